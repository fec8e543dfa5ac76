/** Inputs of durations, intervals and instants. Their values are the seconds that the contract takes. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ONCE } from '../forms/form-model.ts';
import {
  instantOf,
  joinDuration,
  localTextOf,
  splitDuration,
  TIME_UNITS,
  unixTextOf,
  zoneText,
} from '../forms/time-texts.ts';
import { relative, utc } from '../text/format.ts';
import type { ControlAttributes } from './picker.tsx';

interface TimeInputProps {
  readonly attributes: ControlAttributes;
  /** Seconds as text. */
  readonly value: string;
  readonly label: string;
  readonly disabled: boolean;
  readonly onChange: (value: string) => void;
}

/** An amount and its unit. */
export function DurationInput({ attributes, value, label, disabled, onChange }: TimeInputProps): JSX.Element {
  const [typed, setTyped] = useState(() => splitDuration(value));
  // The reader's own unit stays as long as it says the same.
  const shown = joinDuration(typed) === value ? typed : splitDuration(value);
  const change = (next: typeof typed): void => {
    setTyped(next);
    onChange(next.amount.trim() === '' ? '' : joinDuration(next));
  };
  return (
    <div class="duration">
      <input
        {...attributes}
        type="text"
        inputMode="decimal"
        autocomplete="off"
        value={shown.amount}
        disabled={disabled}
        onInput={(event) => change({ ...shown, amount: event.currentTarget.value })}
      />
      <select
        aria-label={`${label}: unit`}
        value={String(shown.unit)}
        disabled={disabled}
        onChange={(event) => change({ ...shown, unit: Number(event.currentTarget.value) })}
      >
        {TIME_UNITS.map(([name, size]) => (
          <option value={String(size)} key={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

const INTERVALS = [
  ['Once', ONCE],
  ['Every 15 minutes', '900'],
  ['Every hour', '3600'],
  ['Every 6 hours', '21600'],
  ['Every day', '86400'],
  ['Every week', '604800'],
] as const;
const OTHER = 'other';

/** A usual interval from a list, or any other one. */
export function IntervalInput(props: TimeInputProps): JSX.Element {
  const { attributes, value, label, disabled, onChange } = props;
  const [isOther, setOther] = useState(false);
  const listed = INTERVALS.find(([, seconds]) => seconds === (value === '' ? ONCE : value));
  const shown = isOther || listed === undefined ? OTHER : listed[1];
  return (
    <>
      <select
        {...attributes}
        value={shown}
        disabled={disabled}
        onChange={(event) => {
          const next = event.currentTarget.value;
          setOther(next === OTHER);
          onChange(next === OTHER ? '' : next);
        }}
      >
        {INTERVALS.map(([name, seconds]) => (
          <option value={seconds} key={seconds}>
            {name}
          </option>
        ))}
        <option value={OTHER}>Other …</option>
      </select>
      {shown === OTHER ? (
        <DurationInput
          {...props}
          value={value === ONCE ? '' : value}
          label={label}
          attributes={{ ...attributes, id: `${attributes.id}-other`, 'aria-label': `${label}: every` }}
        />
      ) : null}
    </>
  );
}

/**
 * A date and a time on the reader's clock.
 *
 * @param props `now`: Unix seconds
 */
export function InstantInput({
  attributes,
  value,
  disabled,
  now,
  onChange,
}: TimeInputProps & { readonly now: number }): JSX.Element {
  const date = instantOf(value);
  return (
    <div class="instant">
      <input
        {...attributes}
        type="datetime-local"
        step={1}
        value={localTextOf(value)}
        disabled={disabled}
        onChange={(event) => onChange(unixTextOf(event.currentTarget.value))}
      />
      <span class="muted">
        {zoneText(date ?? new Date(now * 1000))}
        {date === null ? null : ` · ${relative(date.getTime() / 1000, now)} · ${utc(date.getTime() / 1000)}`}
      </span>
    </div>
  );
}
