// What a process that ends tells of its products.
#pragma once

#include <string>

namespace xgemm {

// "process 4711 (python3)".
std::string name_of_process();

// In one piece, on stderr or to the end of the file that XGEMM_SUMMARY_FILE names.
void print_at_the_end(const std::string& text);

}  // namespace xgemm
