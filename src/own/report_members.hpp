// The members of a report of one's own in JSON.
#pragma once

#include <array>
#include <tuple>

#include "own/report.hpp"
#include "result/result_members.hpp"

namespace ranklab {

template <>
struct Members<OwnStatement> {
  static constexpr auto list =
      std::tuple(optional("id", &OwnStatement::id), optional("says", &OwnStatement::says),
                 required("claim", &OwnStatement::claim));
};
template <>
struct Members<OwnQuantity> {
  static constexpr auto list =
      std::tuple(required("name", &OwnQuantity::name), required("is", &OwnQuantity::is),
                 optional("label", &OwnQuantity::label));
};
template <>
struct Members<OwnX> {
  static constexpr auto list = std::tuple(
      optional("of", &OwnX::of), optional("label", &OwnX::label), optional("scale", &OwnX::scale));
};
template <>
struct Members<OwnY> {
  static constexpr auto list =
      std::tuple(optional("label", &OwnY::label), optional("scale", &OwnY::scale),
                 optional("covers", &OwnY::covers));
};
template <>
struct Members<OwnCurve> {
  static constexpr auto list =
      std::tuple(required("of", &OwnCurve::of), optional("each", &OwnCurve::each),
                 optional("label", &OwnCurve::label), optional("style", &OwnCurve::style),
                 optional("color", &OwnCurve::color), optional("band", &OwnCurve::band));
};
template <>
struct Members<OwnLine> {
  static constexpr auto list =
      std::tuple(required("y", &OwnLine::y), optional("label", &OwnLine::label));
};
template <>
struct Members<OwnPanel> {
  static constexpr auto list =
      std::tuple(optional("title", &OwnPanel::title), optional("each", &OwnPanel::each),
                 optional("x", &OwnPanel::x), optional("y", &OwnPanel::y),
                 required("curves", &OwnPanel::curves), optional("lines", &OwnPanel::lines));
};
template <>
struct Members<OwnReport> {
  static constexpr auto list = std::tuple(
      optional("quantities", &OwnReport::quantities), optional("claims", &OwnReport::claims),
      optional("panels", &OwnReport::panels), optional("notes", &OwnReport::notes));
};

void from_json_value(const Json& json, OwnStatement& statement);
void from_json_value(const Json& json, OwnQuantity& quantity);
void from_json_value(const Json& json, OwnX& x);
void from_json_value(const Json& json, OwnY& y);
void from_json_value(const Json& json, OwnCurve& curve);
void from_json_value(const Json& json, OwnLine& line);
void from_json_value(const Json& json, OwnPanel& panel);

}  // namespace ranklab
