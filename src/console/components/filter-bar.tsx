import type { JSX } from 'preact';
import { useApp } from '../state/app.ts';
import { Button } from './controls.tsx';
import { useTypedQuery } from './use-typed-query.ts';

/** One filter; its name is that of the choice in the address. */
export type Filter =
  | {
      readonly kind: 'choice';
      readonly name: string;
      readonly label: string;
      readonly options: ReadonlyArray<readonly [value: string, label: string]>;
      readonly isRare?: boolean;
    }
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly label: string;
      readonly hint?: string;
      readonly isRare?: boolean;
    };

/** The filters of a list. Every choice is in the address, so a link shows the same list to another person. */
export function FilterBar({
  label,
  filters,
  count,
}: {
  readonly label: string;
  readonly filters: readonly Filter[];
  readonly count?: string;
}): JSX.Element {
  const app = useApp();
  const used = filters.filter(({ name }) => app.query(name) !== '');
  const rare = filters.filter(({ isRare }) => isRare === true);
  const usedRare = rare.filter((each) => used.includes(each)).length;
  return (
    <form class="filter-bar" role="search" aria-label={label} onSubmit={(event) => event.preventDefault()}>
      {filters
        .filter((each) => !rare.includes(each))
        .map((filter) => (
          <FilterField filter={filter} key={filter.name} />
        ))}
      {rare.length === 0 ? null : (
        <details class="filter-more" open={usedRare > 0}>
          <summary>{usedRare === 0 ? 'More filters' : `More filters (${usedRare})`}</summary>
          <div class="filter-bar">
            {rare.map((filter) => (
              <FilterField filter={filter} key={filter.name} />
            ))}
          </div>
        </details>
      )}
      {used.length === 0 ? null : (
        <Button
          class="plain"
          onClick={() => app.setQuery(Object.fromEntries(used.map(({ name }) => [name, null])))}
        >
          Clear filters
        </Button>
      )}
      {count === undefined ? null : (
        <span class="filter-count" role="status">
          {count}
        </span>
      )}
    </form>
  );
}

function FilterField({ filter }: { filter: Filter }) {
  const app = useApp();
  const { name, label } = filter;
  if (filter.kind === 'text') return <TextFilter name={name} label={label} hint={filter.hint ?? ''} />;
  const chosen = app.query(name);
  const values = filter.options.map(([value]) => value);
  return (
    <label>
      {label}
      <select value={chosen} onChange={(event) => app.setQuery({ [name]: event.currentTarget.value })}>
        <option value="">All</option>
        {filter.options.map(([value, text]) => (
          <option value={value} key={value}>
            {text}
          </option>
        ))}
        {/* A link can name a value that nobody can choose here. */}
        {chosen === '' || values.includes(chosen) ? null : <option>{chosen}</option>}
      </select>
    </label>
  );
}

function TextFilter({ name, label, hint }: { name: string; label: string; hint: string }) {
  const { typed, onInput, onChange } = useTypedQuery(name);
  return (
    <label class="filter-wide">
      {label}
      <input
        type="search"
        value={typed}
        placeholder={hint}
        onInput={(event) => onInput(event.currentTarget.value)}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
