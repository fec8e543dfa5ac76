/** The hours of a time axis; pure. */

interface Tick {
  /** Unix seconds. */
  readonly at: number;
  readonly share: number;
  /** The clock time; `null` for a mark without a text. */
  readonly label: string | null;
}

const HOUR = 3600;
const LABEL_HOURS = [1, 2, 3, 4, 6, 12];

/**
 * Marks the full hours of the reader's clock.
 *
 * @param from Unix seconds
 * @param to Unix seconds, after `from`
 * @param labels most marks with a text
 */
export function hourTicks(from: number, to: number, labels: number): readonly Tick[] {
  const hours = Math.max(1, (to - from) / HOUR);
  const apart = LABEL_HOURS.find((distance) => hours / distance <= labels) ?? 24;
  const ticks: Tick[] = [];
  for (let at = firstHour(from); at < to; at += HOUR) {
    const date = new Date(at * 1000);
    const hour = date.getHours();
    ticks.push({
      at,
      share: (at - from) / (to - from),
      label: hour % apart === 0 ? `${String(hour).padStart(2, '0')}:00` : null,
    });
  }
  return ticks;
}

/** The first full hour of the reader's clock from an instant on; some clocks are half an hour off. */
function firstHour(from: number): number {
  const date = new Date(from * 1000);
  const past = date.getMinutes() * 60 + date.getSeconds();
  return Math.floor(from) + (past === 0 ? 0 : HOUR - past);
}
