// A compilation unit of a family: the launchers of its part of the instances. unit.cu.in instantiates it.
#pragma once

#include "kernels/common/instance_list.h"
#include "kernels/common/launch_instance.cuh"
#include "kernels/launchers.h"

namespace xgemm::kernels {

template <Family kFamily, int kPart>
void set_launchers(Launcher* of_family) {
  for_each_in_part<kFamily, kPart>(
      [&](auto index) { of_family[index] = Launch<kFamily>::template instance<EntryOf<kFamily, index>>; });
}

}  // namespace xgemm::kernels
