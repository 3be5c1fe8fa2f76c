#include "core/track.hpp"

#include <stdexcept>
#include <utility>

namespace ranklab {

Track::Track(const std::vector<Column>& columns) {
  for (const Column& column : columns)
    columns_[column.quantity.name].values.assign(column.x.size(), undefined);
}

Track::Values& Track::at(const std::string& name) {
  const auto found = columns_.find(name);
  if (found == columns_.end())
    throw std::logic_error("'" + name + "' is not among the columns of this run");
  return found->second;
}

void Track::set(const std::string& name, double value, std::size_t i) {
  at(name).values.at(i) = value;
}

void Track::add(const std::string& name, double value) {
  set(name, value, at(name).added++);
}

TrialRecord Track::take() {
  TrialRecord record;
  for (auto& [name, column] : columns_) record.set(name, std::move(column.values));
  return record;
}

}  // namespace ranklab
