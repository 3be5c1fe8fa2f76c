// Builds a Result from the records of a run: numbers, claims, figures.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "experiments/display.hpp"
#include "experiments/numbers.hpp"
#include "judge/claims.hpp"

namespace ranklab {

struct BuiltResult {
  Result built;
};

class ResultBuilder : private BuiltResult, public Numbers, public Display {
 public:
  ResultBuilder(std::string title, const Records& records)
      : Numbers(built, records), Display(built, records) {
    built.title = std::move(title);
    claims_.set_units(records.size());
  }
  using Numbers::records;
  using Numbers::series;
  void series(Series series) { built.series.push_back(std::move(series)); }
  void scalars(std::initializer_list<Quantity> names) {
    for (const Quantity& each : names) scalar(each);
  }

  Claims& claims() { return claims_; }
  Result& result() { return built; }

  Result take() {
    built.claims = claims_.take();
    drop_empty();
    return std::move(built);
  }

 private:
  Claims claims_;
};

}  // namespace ranklab
