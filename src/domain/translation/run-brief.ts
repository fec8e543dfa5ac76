interface EndedTask {
  readonly status: string;
  readonly result: Readonly<Record<string, unknown>> | null;
}

const OUTCOMES: ReadonlySet<unknown> = new Set(['succeeded', 'partly', 'failed']);

/** How a task ended, in one word: its status, or `partly` for a run of workers that came to its end and has left texts open. */
export function endedAs({ status, result }: EndedTask): string {
  return status === 'succeeded' && result?.['outcome'] === 'partly' ? 'partly' : status;
}

/**
 * What a run of workers translated, and the first reason why the rest is missing, in one line: such as
 * `40 translated, 20 left; provider_unreachable: connection refused`.
 *
 * @returns `null` for the result of another task
 */
export function runBrief(result: EndedTask['result']): string | null {
  if (!OUTCOMES.has(result?.['outcome'])) return null;
  const units = Object.entries(membersOf(result?.['units'])).flatMap(([outcome, count]) =>
    typeof count === 'number' && count > 0 ? [`${count} ${outcome}`] : [],
  );
  const reasons: unknown = result?.['reasons'];
  const { code, message } = membersOf(Array.isArray(reasons) ? reasons[0] : null);
  const counts = units.length === 0 ? 'nothing to translate' : units.join(', ');
  return typeof code === 'string' ? `${counts}; ${code}: ${String(message)}` : counts;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
