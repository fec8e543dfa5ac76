import type { JSX } from 'preact';
import type { Tone } from '../../components/text.tsx';
import { count, percent, words } from '../../text/format.ts';

const PARTS: readonly (readonly [name: string, look: Tone | `${Tone} faint`])[] = [
  ['proofread', 'ok'],
  ['published', 'ok'],
  ['translated', 'info'],
  ['below_min_state', 'info faint'],
  ['draft', 'info faint'],
  ['stale', 'warn'],
  ['held', 'warn faint'],
  ['blocked', 'bad'],
  ['untranslated', 'idle'],
  ['skipped', 'idle faint'],
];
/** Parts whose names would say nothing to a reader of the page. */
const NAMES: Readonly<Record<string, string>> = {
  below_min_state: 'Below the lowest state',
  held: 'On hold',
};
const WIDTH = 1000;

/** How many units there are of each kind: a bar, and the same in words. */
export function CoverageBar({ units }: { units: Readonly<Record<string, number>> }): JSX.Element | null {
  const parts = partsOf(units);
  const total = sumOf(parts);
  if (total === 0) return null;
  return (
    <div class="coverage">
      <CoverageStripe units={units} />
      <ul>
        {parts.map(({ name, tone, units: each }) => (
          <li key={name}>
            <span class={`dot ${tone}`} aria-hidden="true" /> {NAMES[name] ?? words(name)}{' '}
            <strong>{count(each)}</strong> <span class="muted">{percent(each / total)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The bar alone, for a row whose other cells have the numbers. */
export function CoverageStripe({ units }: { units: Readonly<Record<string, number>> }): JSX.Element {
  const parts = partsOf(units);
  const total = sumOf(parts);
  let from = 0;
  return (
    <svg class="coverage-stripe" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
      {parts.map(({ name, tone, units: each }) => {
        const x = (from / total) * WIDTH;
        from += each;
        return <rect key={name} class={tone} x={x} width={(each / total) * WIDTH} height="10" />;
      })}
    </svg>
  );
}

type Part = { readonly name: string; readonly tone: string; readonly units: number };

function partsOf(units: Readonly<Record<string, number>>): readonly Part[] {
  return PARTS.map(([name, tone]) => ({ name, tone, units: units[name] ?? 0 })).filter(
    (part) => part.units > 0,
  );
}

function sumOf(parts: readonly Part[]): number {
  return parts.reduce((sum, part) => sum + part.units, 0);
}
