import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ChipText } from '../../components/chip-text.tsx';
import { Button } from '../../components/controls.tsx';
import { FilterBar, type Filter } from '../../components/filter-bar.tsx';
import { Section } from '../../components/panel.tsx';
import { Table, type Column } from '../../components/table.tsx';
import { Empty, EmptyState, FailureText } from '../../components/text.tsx';
import { useApp, type App } from '../../state/app.ts';
import { readReport, reportFeed } from '../../state/read-report.ts';
import type { View } from '../../state/view.ts';
import { editorAddress } from '../../text/addresses.ts';
import { counted, words } from '../../text/format.ts';
import { useUnitScan, type UnitScan } from '../editor/list/unit-scan.tsx';
import { lookOf, type Unit } from '../editor/unit.ts';
import { OwnChannel } from '../own-channel.tsx';
import { ReplacePanel } from './replace-panel.tsx';

/** Units after which the person asks for more. */
const ENOUGH = 100;

export const searchView: View = {
  feeds: (app) => [reportFeed(app, 'translation.status')],
  Body: () => (
    <OwnChannel>
      <Search />
    </OwnChannel>
  ),
};

const WITH_SAME: ReadonlySet<string> = new Set(['path_pattern', 'same']);
const AUTHORS = 'person machine import memory'.split(' ');

function filtersOf({ contract: { vocabulary }, query }: App): readonly Filter[] {
  const named = (values: readonly string[]) => values.map((value) => [value, words(value)] as const);
  const filters: readonly Filter[] = [
    { kind: 'text', name: 'text', label: 'Text', hint: 'Part of a text' },
    {
      kind: 'choice',
      name: 'text_in',
      label: 'In',
      options: [
        ['source', 'Sources'],
        ['target', 'Translations'],
      ],
    },
    { kind: 'choice', name: 'unit_state', label: 'State', options: named(vocabulary.unit_state) },
    { kind: 'text', name: 'path_pattern', label: 'File', hint: 'A part of the path, or *' },
    { kind: 'text', name: 'speaker', label: 'Speaker', hint: 'The whole name' },
    { kind: 'choice', name: 'author', label: 'Author', options: named(AUTHORS) },
    {
      kind: 'choice',
      name: 'same',
      label: 'Consistency',
      options: [
        ['source', 'One source, several translations'],
        ['target', 'One translation, several sources'],
      ],
    },
  ];
  // What is inconsistent is narrowed by the file alone.
  return query('same') === '' ? filters : filters.filter(({ name }) => WITH_SAME.has(name));
}

/** The filters that the address names, as parameters of the report; `null` while they say nothing to search for. */
function searchOf(app: App): Record<string, string> | null {
  const chosen = filtersOf(app)
    .map(({ name }) => [name, app.query(name)] as const)
    .filter(([, value]) => value !== '');
  const query: Record<string, string> = Object.fromEntries(chosen);
  const { path_pattern: path, text_in: _side, ...wanted } = query;
  if (Object.keys(wanted).length === 0) return null;
  return path === undefined || /[*?]/.test(path) ? query : { ...query, path_pattern: `**${path}**` };
}

function Search() {
  const app = useApp();
  const [isReplacing, setReplacing] = useState(false);
  const query = searchOf(app);
  const scan = useUnitScan({
    question: query === null ? null : JSON.stringify(query),
    read: async (offset, _limit, signal) =>
      await readReport(
        app,
        'parse.text_units',
        { ...query, offset: String(offset), limit: String(ENOUGH) },
        signal,
      ),
    isWanted: () => true,
    enough: ENOUGH,
    limit: Infinity,
  });
  const units = scan.found.map(({ unit }) => unit);
  const same = app.query('same');
  const mayReplace = app.mayRun('translation-task-update') && same === '' && query !== null;
  return (
    <>
      <FilterBar label="Search all texts" filters={filtersOf(app)} />
      {query === null ? (
        <Empty>
          Type a part of a source or a translation, or choose a state, a speaker, an author, or what is
          inconsistent. The address keeps the search, so you can send it to others.
        </Empty>
      ) : (
        <Section
          title="Found"
          tools={
            mayReplace ? (
              <Button onClick={() => setReplacing(!isReplacing)}>
                {isReplacing ? 'Do not replace' : 'Replace …'}
              </Button>
            ) : null
          }
        >
          <FoundNote scan={scan} />
          {/* The replacement lists the same units. */}
          {same === '' ? (
            <Units units={isReplacing && mayReplace ? [] : units} />
          ) : (
            <Groups units={units} same={same} />
          )}
        </Section>
      )}
      {isReplacing && mayReplace ? (
        <ReplacePanel units={units} searched={app.query('text')} onDone={scan.reload} />
      ) : null}
    </>
  );
}

function FoundNote({ scan: { found, isRunning, failure, goOn, stop } }: { scan: UnitScan }) {
  const isAll = !isRunning && goOn === null && failure === null;
  if (isAll && found.length === 0) {
    return <EmptyState title="Nothing fits">Search for less, or clear a filter.</EmptyState>;
  }
  return (
    <p class={failure === null ? 'muted' : 'bad'}>
      <span role={failure === null ? 'status' : 'alert'}>
        {failure === null ? null : <FailureText failure={failure} />}
        {isRunning ? ' Searching …' : ''} {counted(found.length, 'unit')}
        {isAll ? ', that is all.' : ' so far.'}
      </span>{' '}
      {isRunning ? (
        <Button class="plain" onClick={stop}>
          Stop
        </Button>
      ) : null}
      {goOn === null ? null : (
        <Button class="plain" onClick={goOn}>
          {failure === null ? 'Search more' : 'Try again'}
        </Button>
      )}
    </p>
  );
}

/** The text that a unit shows as its translation: that of a stale one was made for another source. */
function targetOf({ translation }: Unit): string {
  return translation?.target_text ?? translation?.previous_target ?? '';
}

const SOURCE: Column<Unit> = {
  head: 'Source',
  cell: (unit) => {
    const text = <ChipText text={unit.source_text} placeholders={unit.placeholders} />;
    const task = unit.translation?.task_id ?? null;
    return task === null ? text : <a href={editorAddress(task, { unit: unit.unit_id })}>{text}</a>;
  },
};
const TARGET: Column<Unit> = {
  head: 'Translation',
  cell: (unit) =>
    targetOf(unit) === '' ? '–' : <ChipText text={targetOf(unit)} source={unit.source_text} />,
};
const PLACE: readonly Column<Unit>[] = [
  {
    head: 'Speaker',
    cell: ({ speaker }) => (speaker === null ? '–' : <FilterLink name="speaker" value={speaker} />),
  },
  {
    head: 'State',
    narrow: 'aside',
    cell: ({ translation }) => {
      const look = lookOf(translation?.state ?? 'unknown');
      return <span class={`badge ${look.tone}`}>{`${look.sign} ${look.word}`}</span>;
    },
  },
  { head: 'File', cell: ({ destination }) => <FilterLink name="path_pattern" value={destination} /> },
];

/** A value that leads to the same search of only the units that have it. */
function FilterLink({ name, value }: { name: string; value: string }): JSX.Element {
  const app = useApp();
  return (
    <Button
      class="plain"
      onClick={() => app.setQuery({ [name]: value, ...(WITH_SAME.has(name) ? {} : { same: null }) })}
    >
      <bdi>{value}</bdi>
    </Button>
  );
}

function Units({ units }: { units: readonly Unit[] }) {
  if (units.length === 0) return null;
  return (
    <Table caption="Units that were found" rows={units} keyOf={keyOf} columns={[SOURCE, TARGET, ...PLACE]} />
  );
}

/** Units with one text in common, each group under it. */
function Groups({ units, same }: { units: readonly Unit[]; same: string }) {
  const isSource = same === 'source';
  const groups = Map.groupBy(units, (unit) => (isSource ? unit.source_text : targetOf(unit)));
  return (
    <>
      {[...groups].map(([text, group]) => (
        <section key={text}>
          <h3>
            <ChipText text={text} />
          </h3>
          {group.some(({ is_group_cut: isCut }) => isCut === true) ? (
            <p class="muted">Other units have it, too. They are not listed.</p>
          ) : null}
          <Table
            caption={text}
            rows={group}
            keyOf={keyOf}
            columns={isSource ? [{ ...TARGET, cell: targetLink }, ...PLACE] : [SOURCE, ...PLACE]}
          />
        </section>
      ))}
    </>
  );
}

function targetLink(unit: Unit): JSX.Element {
  const text = <ChipText text={targetOf(unit)} source={unit.source_text} />;
  const task = unit.translation?.task_id ?? null;
  return task === null ? text : <a href={editorAddress(task, { unit: unit.unit_id })}>{text}</a>;
}

function keyOf({ unit_id: id }: Unit): string {
  return id;
}
