#include "text/jinja/strftime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace plm::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};

// A caller may hand in anything; names need an index in range.
std::size_t within(int value, std::size_t count) { return value < 0 ? 0 : static_cast<std::size_t>(value) % count; }

int hour12(const std::tm& time) { return time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12; }

std::string composed(std::string_view pattern, const std::tm& time) {
  return formatted_time(MarkedText(std::string(pattern), Origin::input), time).text();
}

std::optional<std::string> place(char conversion, bool is_unpadded, const std::tm& time) {
  const auto two = [is_unpadded](int value) {
    return is_unpadded ? fmt::format("{}", value) : fmt::format("{:02}", value);
  };
  const std::string_view day = kDays[within(time.tm_wday, 7)], month = kMonths[within(time.tm_mon, 12)];
  const int year = time.tm_year + 1900;
  switch (conversion) {
    case 'a': return std::string(day.substr(0, 3));
    case 'A': return std::string(day);
    case 'b':
    case 'h': return std::string(month.substr(0, 3));
    case 'B': return std::string(month);
    case 'c': return composed("%a %b %e %H:%M:%S %Y", time);
    case 'C': return two(year / 100);
    case 'd': return two(time.tm_mday);
    case 'D': return composed("%m/%d/%y", time);
    case 'e': return is_unpadded ? fmt::format("{}", time.tm_mday) : fmt::format("{:2}", time.tm_mday);
    case 'F': return composed("%Y-%m-%d", time);
    case 'H': return two(time.tm_hour);
    case 'I': return two(hour12(time));
    case 'j': return is_unpadded ? fmt::format("{}", time.tm_yday + 1) : fmt::format("{:03}", time.tm_yday + 1);
    case 'm': return two(time.tm_mon + 1);
    case 'M': return two(time.tm_min);
    case 'n': return "\n";
    case 'p': return time.tm_hour < 12 ? "AM" : "PM";
    case 'r': return composed("%I:%M:%S %p", time);
    case 'R': return composed("%H:%M", time);
    case 'S': return two(time.tm_sec);
    case 't': return "\t";
    case 'T':
    case 'X': return composed("%H:%M:%S", time);
    case 'u': return fmt::format("{}", time.tm_wday == 0 ? 7 : time.tm_wday);
    case 'U': return two((time.tm_yday + 7 - time.tm_wday) / 7);
    case 'w': return fmt::format("{}", time.tm_wday);
    case 'W': return two((time.tm_yday + 7 - (time.tm_wday + 6) % 7) / 7);
    case 'x': return composed("%m/%d/%y", time);
    case 'y': return two(year % 100);
    case 'Y': return fmt::format("{}", year);
    case 'f': return "000000";
    case 'z':
    case 'Z': return "";
    case '%': return "%";
    default: return std::nullopt;
  }
}

}  // namespace

MarkedText formatted_time(const MarkedText& pattern, const std::tm& time) {
  const std::string_view text = pattern.text();
  MarkedText result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t percent = std::min(text.find('%', at), text.size());
    result.append(pattern, at, percent);
    if (percent == text.size()) break;
    const bool is_unpadded = text.substr(percent + 1, 1) == "-";
    const std::size_t end = percent + (is_unpadded ? 3 : 2);
    const auto filled = end <= text.size() ? place(text[end - 1], is_unpadded, time) : std::nullopt;
    if (filled) {
      result.append(*filled, Origin::input);
      at = end;
    } else {
      result.append(pattern, percent, percent + 1);
      at = percent + 1;
    }
  }
  return result;
}

}  // namespace plm::jinja
