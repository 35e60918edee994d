#include "constraint/json_schema_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace plm {
namespace {

// Years without 0000, which calendars of programs do not have; 29 February in leap years only.
std::string date() {
  const std::string year = "(?:\\d{3}[1-9]|\\d{2}[1-9]\\d|\\d[1-9]\\d{2}|[1-9]\\d{3})";
  const std::string by_four = "(?:0[48]|[2468][048]|[13579][26])";
  const std::string leap = "(?:\\d{2}" + by_four + "|" + by_four + "00)";
  return "(?:" + year + "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)" +
         "|02-(?:0[1-9]|1\\d|2[0-8]))|" + leap + "-02-29)";
}

std::string time() {
  const std::string hour = "(?:[01]\\d|2[0-3])", sixty = "[0-5]\\d";
  return hour + ":" + sixty + ":" + sixty + "(?:\\.\\d+)?(?:[Zz]|[+-]" + hour + ":" + sixty + ")";
}

std::string duration() {
  const std::string clock = "(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))";
  return "P(?:\\d+W|(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)" + clock + "?|" + clock + ")";
}

std::string ipv4() {
  const std::string byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  return byte + "(?:\\." + byte + "){3}";
}

// Groups before and after "::", eight in all where there is none; the last two may be an IPv4 address.
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}", tail = "(?:" + group + ":" + group + "|" + ipv4() + ")";
  std::string result = "(?:" + group + ":){6}" + tail;
  for (int after = 5; after >= 0; --after) {  // groups between "::" and the tail
    if (after == 5) {
      result += "|";
    } else {
      result += fmt::format("|(?:(?:{0}:){{0,{1}}}{0})?", group, 4 - after);
    }
    result += fmt::format("::(?:{}:){{{}}}{}", group, after, tail);
  }
  result += fmt::format("|(?:(?:{0}:){{0,5}}{0})?::{0}|(?:(?:{0}:){{0,6}}{0})?::", group);
  return "(?:" + result + ")";
}

// Labels of 1 to 63 characters, without the two hyphens in third and fourth place that mark an encoded name.
std::string host() {
  const std::string x = "[A-Za-z0-9]", y = "[A-Za-z0-9-]";
  const std::string longer = "(?:" + x + y + "|-" + x + ")" + y + "{0,58}" + x;
  const std::string label = x + "(?:" + x + "|" + y + "(?:" + x + "|" + y + x + "|" + longer + "))?";
  return label + "(?:\\." + label + ")*";
}

std::string email() {
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}";
  return atom + "(?:\\." + atom + "){0,2}@" + host();
}

struct UriParts {
  std::string unreserved = "A-Za-z0-9._~", delimiters = "!$&'()*+,;=";
  std::string escape = "%[0-9A-Fa-f]{2}";
  std::string character = "(?:[" + unreserved + delimiters + ":@-]|" + escape + ")";
  std::string authority = "(?:(?:[" + unreserved + delimiters + ":-]|" + escape + ")*@)?(?:[" + unreserved + "-]|" +
                          escape + ")+(?::\\d{1,5})?";
  std::string path = "(?:/" + character + "*)*";
  std::string absolute = "/(?:" + character + "+" + path + ")?";
  std::string tail = "(?:\\?(?:" + character + "|[/?])*)?(?:#(?:" + character + "|[/?])*)?";
};

std::string uri() {
  const UriParts part;
  return "[A-Za-z][A-Za-z0-9+.-]*:(?://" + part.authority + part.path + "|" + part.absolute + "|" + part.character +
         "+" + part.path + ")" + part.tail;
}

std::string uri_reference() {
  const UriParts part;
  const std::string no_colon = "(?:[" + part.unreserved + part.delimiters + "@-]|" + part.escape + ")+";
  return "(?:" + uri() + "|(?://" + part.authority + part.path + "|" + part.absolute + "|" + no_colon + part.path +
         ")?" + part.tail + ")";
}

std::string uri_template() {
  const std::string escape = "%[0-9A-Fa-f]{2}", letter = "(?:[A-Za-z0-9_]|" + escape + ")";
  const std::string variable = letter + "(?:\\.?" + letter + ")*(?::[1-9]\\d{0,3}|\\*)?";
  const std::string literal = "[!#$&()*+,./0-9:;=?@A-Z\\[\\]_a-z~-]";
  return "(?:" + literal + "|" + escape + "|\\{[+#./;?&]?" + variable + "(?:," + variable + ")*\\})*";
}

const std::vector<StringFormat>& formats() {
  static const std::vector<StringFormat> all = [] {
    const std::string pointer = "(?:/(?:[^~/]|~[01])*)*";
    return std::vector<StringFormat>{
        {"date", date()},
        {"time", time(), false},
        {"date-time", date() + "[Tt]" + time(), false},
        {"duration", duration()},
        {"email", email(), false, 254},
        {"hostname", host(), false, 253},
        {"ipv4", ipv4()},
        {"ipv6", ipv6()},
        {"uuid", "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"},
        {"uri", uri(), false},
        {"uri-reference", uri_reference(), false},
        {"uri-template", uri_template(), false},
        {"json-pointer", pointer},
        {"relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" + pointer + ")"},
        {"byte", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", false},
    };
  }();
  return all;
}

constexpr std::array<std::string_view, 4> kStorage = {"float", "double", "password", "binary"};

struct Range {
  std::string_view name, lowest, highest;
};
constexpr std::array<Range, 8> kRanges = {{{"int8", "-128", "127"},
                                           {"int16", "-32768", "32767"},
                                           {"int32", "-2147483648", "2147483647"},
                                           {"int64", "-9223372036854775808", "9223372036854775807"},
                                           {"uint8", "0", "255"},
                                           {"uint16", "0", "65535"},
                                           {"uint32", "0", "4294967295"},
                                           {"uint64", "0", "18446744073709551615"}}};

}  // namespace

const StringFormat* string_format(std::string_view name) {
  for (const StringFormat& format : formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string string_format_names() {
  std::string names;
  for (const StringFormat& format : formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

std::optional<IntegerFormat> integer_format(std::string_view name) {
  const auto* range = std::find_if(kRanges.begin(), kRanges.end(), [&](const Range& one) { return one.name == name; });
  if (range == kRanges.end()) return std::nullopt;
  return IntegerFormat{*Decimal::parse(range->lowest), *Decimal::parse(range->highest)};
}

bool is_storage_format(std::string_view name) {
  return std::find(kStorage.begin(), kStorage.end(), name) != kStorage.end();
}

}  // namespace plm
