/** The history of a server as charts need it; pure. */

import type { AdminIndex } from '../api/wire.ts';
import { counted, absolute, count } from '../text/format.ts';

type History = AdminIndex['history'];

/** Bytes per second, by minute. */
export function byteRates({ sent_bytes: sent }: Pick<History, 'sent_bytes'>): readonly (number | null)[] {
  return sent.map((value) => (value === null ? null : value / 60));
}

/** The share of requests that failed, by minute, from 0 to 1. A minute without requests had no failure. */
export function errorShares({
  requests,
  server_errors: errors,
}: Pick<History, 'requests' | 'server_errors'>): readonly (number | null)[] {
  return requests.map((all, index) => {
    const failed = errors[index] ?? null;
    if (all === null || failed === null) return null;
    return all === 0 ? 0 : failed / all;
  });
}

/** The time that the history covers, in words. @param from Unix seconds @param now Unix seconds */
export function spanText(from: number, now: number): string {
  return `since ${absolute(from, now)}`;
}

/** Which server has recorded the history, since when, and its sums. @param now Unix seconds */
export function recordText(history: Omit<History, 'states' | 'sent_bytes'>, now: number): string {
  const { server, requests, server_errors: errors } = history;
  const sums =
    requests.length === 0
      ? 'its first minute is not over yet'
      : `${counted(sum(requests), 'request')} of clients before this minute, ${count(sum(errors))} of them answered with 5xx`;
  return `Recorded by ${server} ${spanText(history.from, now)}: ${sums}. Each server keeps its own history, in memory.`;
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}
