import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer } from '../state/use-answer.ts';

export interface PickerOption {
  readonly value: string;
  readonly text: string;
}

export interface PickerSource {
  readonly key: string;
  /** Whether the service does the search, so that every text asks it again. */
  readonly isSearch: boolean;
  /** @throws ApiFailure */
  readonly load: (typed: string) => Promise<readonly PickerOption[]>;
}

interface PickerProps {
  readonly attributes: ControlAttributes;
  readonly value: string;
  readonly label: string;
  readonly disabled: boolean;
  readonly source: PickerSource;
  readonly onChange: (value: string) => void;
}

const MOST_OPTIONS = 50;
/** Pause of typing after which the service is asked, milliseconds. */
const PAUSE_MS = 250;

/**
 * A text field with a list of the values that exist. Other values can be typed, because the list may be older than the
 * service.
 *
 * Source: ARIA Authoring Practices Guide, "Editable Combobox With List Autocomplete".
 */
export function Picker({ attributes, value, label, disabled, source, onChange }: PickerProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  // Before anything is typed, all values are offered: the field may hold one already.
  const [filter, setFilter] = useState('');
  const asked = source.isSearch ? filter : '';
  const { value: loaded, failure } = useAnswer(
    isOpen ? `${source.key} ${asked}` : null,
    async () => await source.load(asked),
    asked === '' ? 0 : PAUSE_MS,
  );
  // A key that opens the list goes into the options that it had before.
  const known = useRef<readonly PickerOption[] | null>(null);
  known.current = loaded ?? known.current;
  const options = known.current;
  const shown = matching(options, source.isSearch ? '' : filter).slice(0, MOST_OPTIONS);
  const list = `${attributes.id}-options`;
  const close = (): void => {
    setOpen(false);
    setActive(-1);
  };
  const pick = (option: PickerOption | undefined): void => {
    if (option !== undefined) onChange(option.value);
    setFilter('');
    close();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event;
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      setActive(stepped(isOpen ? active : -1, key === 'ArrowDown' ? 1 : -1, shown.length));
    } else if (isOpen && key === 'Enter' && active >= 0) {
      event.preventDefault();
      pick(shown[active]);
    } else if (isOpen && key === 'Escape') {
      // The list closes, and the dialog around it stays open.
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return (
    <div class="picker">
      <input
        {...attributes}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={list}
        {...(isOpen && active >= 0 ? { 'aria-activedescendant': `${list}-${active}` } : {})}
        value={value}
        disabled={disabled}
        onClick={() => setOpen(true)}
        onInput={(event) => {
          onChange(event.currentTarget.value);
          setFilter(event.currentTarget.value);
          setActive(-1);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <ul id={list} role="listbox" aria-label={label} hidden={!isOpen || shown.length === 0}>
        {shown.map((option, index) => (
          <Option
            key={option.value}
            id={`${list}-${index}`}
            option={option}
            isActive={index === active}
            onPick={() => pick(option)}
          />
        ))}
      </ul>
      {isOpen && shown.length === 0 ? (
        <p class="help">{emptyText(failure?.message ?? null, options, source, filter)}</p>
      ) : null}
    </div>
  );
}

function Option({
  id,
  option,
  isActive,
  onPick,
}: {
  readonly id: string;
  readonly option: PickerOption;
  readonly isActive: boolean;
  readonly onPick: () => void;
}) {
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isActive) element.current?.scrollIntoView({ block: 'nearest' });
  }, [isActive]);
  return (
    <li
      id={id}
      ref={element}
      role="option"
      aria-selected={isActive}
      // The press must not take the focus from the field, which would close the list before the click.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPick}
    >
      <code>{option.value}</code> <span class="muted">{option.text}</span>
    </li>
  );
}

function emptyText(
  failure: string | null,
  options: readonly PickerOption[] | null,
  { isSearch }: PickerSource,
  filter: string,
): string {
  if (failure !== null) return failure;
  if (options === null) return 'Loading …';
  if (isSearch && filter === '') return 'Type to search.';
  return options.length === 0 ? 'There are none.' : 'None matches.';
}

function matching(options: readonly PickerOption[] | null, filter: string): readonly PickerOption[] {
  const wanted = filter.toLowerCase();
  return (options ?? []).filter(({ value, text }) => `${value} ${text}`.toLowerCase().includes(wanted));
}

function stepped(at: number, step: number, count: number): number {
  if (count === 0) return -1;
  if (at === -1) return step > 0 ? 0 : count - 1;
  return (at + step + count) % count;
}

export type ControlAttributes = Readonly<{
  id: string;
  'aria-required': boolean;
  'aria-invalid': boolean;
  'aria-describedby'?: string;
  'aria-label'?: string;
}>;
