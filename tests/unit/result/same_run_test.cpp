#include "result/same_run.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace same_run_test {

using namespace ranklab;

namespace {

ResultFile run(std::uint64_t seed, const std::string& program = "p", std::size_t claims = 1) {
  ResultFile out;
  out.command = "random-features";
  out.config = {{"study", "trajectory"}, {"seed", seed}};
  out.environment = {{"program", program}};
  out.trials = {3, 3, ""};
  out.claims.resize(claims);
  return out;
}

struct Kept {
  std::vector<std::string> paths, lines;
  std::vector<ResultFile> results;
};

Kept kept(std::vector<ResultFile> results) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < results.size(); ++i)
    paths.emplace_back(1, static_cast<char>('a' + i));
  Kept out;
  out.lines = drop_repeated_runs(results, paths);
  out.paths = paths;
  out.results = std::move(results);
  return out;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("results of one run count once, in a line that names them") {
  const Kept of = kept({run(1), run(2), run(1), run(3), run(1)});
  CHECK(of.paths == Words{"a", "b", "d"});
  CHECK(of.lines == Words{"a, c and e are the same run; counted once (a)"});
  CHECK(of.results[1].config["seed"] == 2);
  CHECK(of.results[2].config["seed"] == 3);
}

TEST_CASE("kept curves survive, then the most claims") {
  CHECK(kept({run(1), run(1, "p", 3), run(1, "p", 2)}).paths == Words{"b"});
  ResultFile with_curves = run(1);
  with_curves.keeps_trials = true;
  const Kept of = kept({run(1, "p", 3), run(2), with_curves});
  CHECK(of.paths == Words{"b", "c"});
  CHECK(of.lines == Words{"a and c are the same run; counted once (c)"});
  CHECK(of.results[1].keeps_trials);
}

TEST_CASE("the order of a config's keys does not make another run") {
  ResultFile other = run(1);
  other.config = {{"seed", 1}, {"study", "trajectory"}};
  CHECK(kept({run(1), other}).paths == Words{"a"});
}

TEST_CASE("another program, command, input file or number of finished trials is another result") {
  ResultFile of_command = run(1), with_input = run(1), interrupted = run(1), old = run(1);
  of_command.command = "rank-collapse";
  with_input.environment["inputs"] = {{"step.safetensors", "00ff"}};
  interrupted.status = Status::interrupted;
  interrupted.trials.completed = 2;
  old.environment = {{"version", "0.3.0"}, {"git", "a"}};
  ResultFile older = old;
  older.environment["git"] = "b";
  const Kept of = kept({run(1), run(1, "q"), of_command, with_input, interrupted, old, older});
  CHECK(of.paths.size() == 7);
  CHECK(of.lines.empty());
  CHECK(kept({old, older, old}).paths == Words{"a", "b"});
}

}  // namespace same_run_test
