import type { Route } from '../state/app.ts';

/**
 * The page that an address names.
 *
 * @param hash such as `#/tasks/01KAJ2X6V5Q0E8T9R3W7Y1Z4BC?status=failed`
 */
export function readRoute(hash: string): Route {
  const [path, query = ''] = splitOnce(hash.replace(/^#\/?/, ''), '?');
  const [view, argument] = splitOnce(path, '/');
  return {
    view,
    argument: argument === undefined || argument === '' ? null : decode(argument),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** The address of a page, as {@link readRoute} reads it. Empty choices are left out. */
export function writeRoute({ view, argument, query }: Route): string {
  const path = argument === null ? view : `${view}/${encodeURIComponent(argument)}`;
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
