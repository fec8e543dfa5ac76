import type { JSX } from 'preact';

/** A line of text with its label. */
export function TextLine({
  label,
  value,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}): JSX.Element {
  const id = `text-${label.toLowerCase().replaceAll(' ', '-')}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="text" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  );
}
