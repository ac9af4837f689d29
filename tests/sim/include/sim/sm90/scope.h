// How far a release or acquire of memory reaches. SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace xgemm::sim {

enum class Scope { cta, cluster };

}  // namespace xgemm::sim
