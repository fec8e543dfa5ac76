import type { Route } from '../state/app.ts';

/**
 * The page that an address names.
 *
 * @param hash such as `#/tasks/01KAJ2X6V5Q0E8T9R3W7Y1Z4BC`
 */
export function readRoute(hash: string): Route {
  const [view = '', argument] = hash.replace(/^#\/?/, '').split('/', 2);
  return { view, argument: argument === undefined || argument === '' ? null : decode(argument) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
