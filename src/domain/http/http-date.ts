const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})';

const FORMATS: readonly RegExp[] = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^${SHORT_DAY}, (?<day>[0-9]{2}) ${MONTH} (?<year>[0-9]{4}) ${TIME} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^${LONG_DAY}, (?<day>[0-9]{2})-${MONTH}-(?<shortYear>[0-9]{2}) ${TIME} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(`^${SHORT_DAY} ${MONTH} (?<day>[0-9]{2}| [0-9]) ${TIME} (?<year>[0-9]{4})$`),
];

/**
 * Reads an HTTP date in any of its three forms: IMF-fixdate, RFC 850 and asctime. Case counts, and so does every space.
 * The name of the day must be one, but is not compared with the date: the instant is unambiguous without it.
 *
 * @param nowSeconds Unix seconds, to place a year of two digits: never more than 50 years ahead
 * @returns Unix seconds; `null` for a list, an impossible date, or anything else
 *
 * Source: RFC 9110, section 5.6.7.
 */
export function parseHttpDate(text: string, nowSeconds: number): number | null {
  for (const format of FORMATS) {
    const groups = format.exec(text)?.groups;
    if (groups === undefined) continue;
    const { shortYear, year, month = '', day, hour, minute, second } = groups;
    const rest = {
      month: MONTHS.indexOf(month),
      day: Number(day),
      hour: Number(hour),
      minute: Number(minute),
      second: Number(second),
    };
    return shortYear === undefined
      ? instant(Number(year), rest)
      : instantOfShortYear(Number(shortYear), rest, nowSeconds);
  }
  return null;
}

/**
 * Renders an HTTP date as IMF-fixdate, the only form that may be sent.
 *
 * @param unixSeconds 0 to 253,402,300,799 (the last second of the year 9999)
 *
 * Source: RFC 9110, section 5.6.7.
 */
export function renderHttpDate(unixSeconds: number): string {
  if (unixSeconds !== rendered.unixSeconds) {
    rendered = { unixSeconds, text: new Date(unixSeconds * 1000).toUTCString() };
  }
  return rendered.text;
}

/** The last date: nearly every answer has that of the release, and rendering it takes as long as finding the bytes. */
let rendered = { unixSeconds: 0, text: new Date(0).toUTCString() };

interface YearlessDate {
  /** 0 to 11. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

function instant(year: number, { month, day, hour, minute, second }: YearlessDate): number | null {
  // A leap second is written 60 (RFC 5322, section 3.3) and counted as the second after it.
  if (hour > 23 || minute > 59 || second > 60) return null;
  const date = new Date(0);
  // Not Date.UTC: it reads the years 0 to 99 as 1900 to 1999.
  date.setUTCFullYear(year, month, day);
  if (day === 0 || date.getUTCMonth() !== month) return null;
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second;
}

function instantOfShortYear(twoDigits: number, rest: YearlessDate, nowSeconds: number): number | null {
  const limit = new Date(nowSeconds * 1000);
  const currentYear = limit.getUTCFullYear();
  limit.setUTCFullYear(currentYear + 50);
  const year = currentYear - (currentYear % 100) + twoDigits;
  const value = instant(year, rest);
  return value !== null && value * 1000 > limit.getTime() ? instant(year - 100, rest) : value;
}
