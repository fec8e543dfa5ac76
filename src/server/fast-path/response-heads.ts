import { STATUS_CODES } from 'node:http';
import { renderHttpDate } from '../../domain/http/http-date.ts';
import type { Clock } from '../../platform/process/clock.ts';

/** Renders the heads of answers on connections that stay open. */
export interface ResponseHeads {
  /**
   * A head with the date of now, the empty line included.
   *
   * @param fields names and values in turn; characters of Latin-1 without line ends
   */
  render(status: number, fields: readonly string[]): string;
  /** The second that it is now, Unix seconds, and its `Date` field. */
  now(): { readonly second: number; readonly date: string };
}

/** @param options.keepAliveTimeoutMs milliseconds; 0 when connections have no limit */
export function createResponseHeads({
  clock,
  keepAliveTimeoutMs,
}: {
  readonly clock: Clock;
  readonly keepAliveTimeoutMs: number;
}): ResponseHeads {
  let current = { second: -1, date: '' };
  const connectionFields =
    'Connection: keep-alive\r\n' +
    (keepAliveTimeoutMs > 0 ? `Keep-Alive: timeout=${Math.floor(keepAliveTimeoutMs / 1000)}\r\n` : '');

  const now = (): typeof current => {
    const second = Math.floor(clock.now() / 1000);
    if (second !== current.second) current = { second, date: renderHttpDate(second) };
    return current;
  };

  return {
    now,
    render: (status, fields) => {
      let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
      for (let at = 0; at + 1 < fields.length; at += 2) text += `${fields[at]}: ${fields[at + 1]}\r\n`;
      return `${text}Date: ${now().date}\r\n${connectionFields}\r\n`;
    },
  };
}
