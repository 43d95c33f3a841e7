// The table of one level, the only symbol that survives joining its objects.
#include "backends/cpu/rows/level.hpp"

#define MX_JOIN_(a, b) a##b
#define MX_JOIN(a, b) MX_JOIN_(a, b)
#define MX_STRING_(a) #a
#define MX_STRING(a) MX_STRING_(a)

namespace level = mx::cpu::rows::MX_LEVEL;

extern "C" const mx::cpu::rows::Table MX_JOIN(rows_, MX_LEVEL);
extern "C" const mx::cpu::rows::Table MX_JOIN(rows_, MX_LEVEL) = {
    MX_STRING(MX_LEVEL),     level::half_to_float, level::float_to_half, level::bfloat_to_float,
    level::float_to_bfloat,  level::maximum,       level::minimum,       level::sum,
    level::sum_squares,      level::sum_exp,       level::exp_rows,      level::scale,
    level::stream,           level::normalize,     level::rotate,        level::rotate_neighbours,
    level::cumulative_sum,   level::threefry,      level::attention,     level::attention_queries,
    level::attention_scratch};
