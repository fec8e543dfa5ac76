import { useEffect, useRef, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import type { ControlAttributes } from './control-attributes.ts';

/** A value that can be picked. */
export interface PickerOption {
  readonly value: string;
  /** The object of the value, in words. */
  readonly text: string;
}

/** Where the values come from. */
export interface PickerSource {
  /** Names the source: another one is loaded again. */
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

/** Most options that are shown; the text narrows them. */
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
  const { options, failure } = useOptions(source, filter, isOpen);
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
        <p class="help">{emptyText(failure, options, source, filter)}</p>
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
}): JSX.Element {
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

/** Loads the options when the list first opens, and for a searching source after every pause of typing. */
function useOptions(
  source: PickerSource,
  filter: string,
  isOpen: boolean,
): { readonly options: readonly PickerOption[] | null; readonly failure: string | null } {
  const [options, setOptions] = useState<readonly PickerOption[] | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const asked = source.isSearch ? filter : '';
  useEffect(() => {
    if (!isOpen) return undefined;
    let isCurrent = true;
    const load = (): void => {
      source.load(asked).then(
        (found) => {
          if (!isCurrent) return;
          setOptions(found);
          setFailure(null);
        },
        (error: unknown) => {
          if (isCurrent) setFailure(error instanceof Error ? error.message : String(error));
        },
      );
    };
    const timer = setTimeout(load, asked === '' ? 0 : PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [source.key, asked, isOpen]);
  return { options, failure };
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

/** The next index, around the ends; -1 when there is nothing. */
function stepped(at: number, step: number, count: number): number {
  if (count === 0) return -1;
  if (at === -1) return step > 0 ? 0 : count - 1;
  return (at + step + count) % count;
}
