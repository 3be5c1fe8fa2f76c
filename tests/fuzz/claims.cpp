// A statement of one's own, judged about one run and about two; after a zero byte, a result file
// that it is judged from, alone and with a run.

#include "core/undefined.hpp"
#include "own/own_claims.hpp"
#include "workplace.hpp"

namespace ranklab::fuzz {
namespace {

ResultFile small_run(double n) {
  ResultFile out;
  out.config = {{"n", n}, {"study", "small"}};
  out.scalars = {{"a", {1, 2, undefined}}, {"b", {0, -1, 3}}};
  const std::vector<double> x = {0, 1, 2, 3}, mean = {1, 1, 1, 1};
  out.series = {
      {"gd.loss", "t", x, mean, mean, {}, {{4, 3, 2, 1}, {4, 4, 0, undefined}, {1, 1, 1, 1}}},
      {At("layer", 1, "layer1") / "r",
       "t",
       x,
       mean,
       mean,
       {},
       {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 5}}},
      {At("layer", 2, "layer2") / "r",
       "t",
       x,
       mean,
       mean,
       {},
       {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 5}}},
      {"d=2.r", "k", {5}, {1}, {0}, {}, {{1}, {2}, {3}}},
      {"shown", "t", x, mean, mean}};
  return out;
}

}  // namespace

void read_claim(std::string_view bytes) {
  static const ResultFile one = small_run(4), two = small_run(8);
  const std::size_t zero = bytes.find('\0');
  const std::vector<OwnStatement> statements =
      checked({{"", "", std::string(bytes.substr(0, zero))}}, "--claim");
  std::vector<std::string> mistakes;
  if (zero != std::string::npos) {
    ResultFile file = ranklab::read_result(put("a.json", bytes.substr(zero + 1)));
    require_same_trials(file, "a.json");
    judge_own(statements, {{&file, "file"}, {&one, "one"}}, mistakes);
    return add_own(file, judge_own(statements, {{&file, ""}}, mistakes));
  }
  ResultFile judged = one;
  add_own(judged, judge_own(statements, {{&one, ""}}, mistakes));
  judge_own(statements, {{&one, "one"}, {&two, "two"}}, mistakes);
}

}  // namespace ranklab::fuzz
