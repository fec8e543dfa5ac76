import type { Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { EmptyState, Badge, Empty, Facts, Time, type Tone } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import type { View } from '../state/view.ts';
import { counted, count, words } from '../text/format.ts';
import { ExchangeHelp } from './exchange-help.tsx';
import { MATCH_WORDS, madeBy, mergeMatches, type MergedMatch } from './merge-matches.ts';
import { RecordActions } from './record-actions.tsx';

type Match = Report<'translation.memory.query'>['matches'][number];
type Group = Report<'translation.memory.conflicts'>['groups'][number];
type MemoryRecord = Match['record'];

const STATE_TONES = {
  candidate: 'info',
  trusted: 'ok',
  superseded: 'idle',
  rejected: 'idle',
} as const satisfies Record<MemoryRecord['state'], Tone>;

export const memoryView: View = {
  feeds: (app) => [
    reportFeed(app, 'translation.memory.summary'),
    reportFeed(app, 'translation.memory.conflicts'),
    ...(app.query('text') === ''
      ? []
      : [
          reportFeed(app, 'translation.memory.query', {
            key: searchKey(app),
            query: { source_text: app.query('text'), limit: '50' },
          }),
          reportFeed(app, 'translation.memory.query', {
            key: partsKey(app),
            query: { source_text: app.query('text'), source_context: CONCORDANCE, limit: '50' },
          }),
        ]),
  ],
  Body: () => (
    <>
      <Search />
      <Conflicts />
      <Summary />
      <ExchangeHelp kind="memory" />
    </>
  ),
};

const CONCORDANCE = JSON.stringify({ mode: 'concordance' });

function partsKey(app: App): string {
  return `translation.memory.concordance:${app.query('text')}`;
}

function searchKey(app: App): string {
  return `translation.memory.query:${app.query('text')}`;
}

function Search() {
  const app = useApp();
  const feed = app.pool.state<Report<'translation.memory.query'>>(searchKey(app));
  const parts = app.pool.state<Report<'translation.memory.query'>>(partsKey(app)).value;
  const found = mergeMatches([...(feed.value?.matches ?? []), ...(parts?.matches ?? [])]);
  const bound = parts?.truncated ? '; search for three or more characters to search all records' : '';
  const isAsked = app.query('text') !== '';
  return (
    <div class="filtered-list">
      <FilterBar
        label="Search the Translation Memory"
        filters={[{ kind: 'text', name: 'text', label: 'Text', hint: 'All or part of a text' }]}
        {...(isAsked && feed.value !== null
          ? { count: counted(found.length, 'match', 'matches') + bound }
          : {})}
      />
      {isAsked ? (
        <Panel title="Matches" feed={feed}>
          {() =>
            found.length === 0 ? (
              <EmptyState title={`No similar text is ${bound === '' ? 'known' : 'among the newest records'}`}>
                Targets come into the memory when they are proofread, and from imported files.
              </EmptyState>
            ) : (
              <Matches matches={found} />
            )
          }
        </Panel>
      ) : (
        <Empty>Type a text, or a part of one, to see how it was translated before.</Empty>
      )}
    </div>
  );
}

function Matches({ matches }: { matches: readonly MergedMatch[] }) {
  return (
    <Table
      caption="Matches, the best first"
      rows={matches}
      keyOf={({ record }) => record.record_id}
      columns={[
        {
          head: 'Source',
          cell: ({ record }) => <span lang={record.source_language}>{record.source_text}</span>,
        },
        {
          head: 'Translation',
          cell: ({ record, proposed_text: text }) => <span lang={record.target_language}>{text}</span>,
        },
        {
          head: 'Match',
          cell: ({ score, match_type: type }) =>
            type === 'concordance' ? MATCH_WORDS[type] : `${Math.min(score, 100)} % · ${MATCH_WORDS[type]}`,
        },
        {
          head: 'State',
          narrow: 'aside',
          cell: ({ record: { state } }) => <Badge tone={STATE_TONES[state]}>{words(state)}</Badge>,
        },
        {
          head: 'From',
          cell: ({ record, more }) => (
            <>
              <Origin record={record} />
              {more === 0 ? null : (
                <div class="muted">{`and ${counted(more, 'other place', 'other places')}`}</div>
              )}
            </>
          ),
        },
        { head: 'Used', class: 'number', narrow: 'none', cell: ({ used }) => count(used) },
        {
          head: 'Actions',
          class: 'tools',
          cell: ({ record }) =>
            record.state === 'candidate' || record.state === 'trusted' ? (
              <RecordActions record={record} />
            ) : (
              '–'
            ),
        },
      ]}
    />
  );
}

function Origin({ record }: { record: MemoryRecord }) {
  return (
    <>
      {madeBy(record)} <Time at={record.created_at} />
    </>
  );
}

function Conflicts() {
  const feed = reportState(useApp(), 'translation.memory.conflicts');
  return (
    <Panel title="Conflicts" feed={feed}>
      {({ groups, total }) =>
        groups.length === 0 ? (
          <Empty>No text has several trusted translations.</Empty>
        ) : (
          <>
            <p class="muted">{`${counted(total, 'text has', 'texts have')} several trusted translations. Choose the one to keep.`}</p>
            <ul class="rows">
              {groups.map((group) => (
                <li key={group.identity}>
                  <Conflict group={group} />
                </li>
              ))}
            </ul>
          </>
        )
      }
    </Panel>
  );
}

const PLACES: Readonly<Record<string, string>> = {
  destination: 'File',
  archive_entry: 'Entry',
  field_path: 'Field',
  previous: 'Before',
  next: 'After',
};

function Conflict({ group: { source_text: source, context, records } }: { group: Group }) {
  const trusted = records.filter(({ state }) => state === 'trusted').map(({ record_id: id }) => id);
  const place = Object.entries(context).map(([key, value]) => [PLACES[key] ?? words(key), value] as const);
  return (
    <article class="memory-conflict">
      <h3>{source}</h3>
      <Facts rows={place} />
      <div class="columns">
        {records.map((record) => (
          <div class="card" key={record.record_id}>
            <p lang={record.target_language}>{record.target_text}</p>
            <p class="muted">
              <Origin record={record} />
              {record.use_count === 0 ? ' · never used' : ` · used ${counted(record.use_count, 'time')}`}
            </p>
            <ActionButton
              request={{
                action: 'translation-memory-resolve-conflict',
                about: `“${record.target_text}”`,
                fixed: {
                  winner_record_id: record.record_id,
                  expected_trusted_record_ids: trusted.join('\n'),
                },
              }}
              about={record.target_text}
            >
              Keep this
            </ActionButton>
          </div>
        ))}
      </div>
    </article>
  );
}

function Summary() {
  const feed = reportState(useApp(), 'translation.memory.summary');
  const states = useApp().contract.vocabulary.memory_state;
  return (
    <Panel title="Records by language pair" feed={feed}>
      {({ available, reason, pairs }) => {
        if (!available) return <Empty>{`The Translation Memory is not available: ${reason ?? ''}.`}</Empty>;
        if (pairs.length === 0)
          return <Empty>It is empty. Import a TMX file, or proofread translations.</Empty>;
        return (
          <Table
            caption="Records by language pair"
            rows={pairs}
            keyOf={(pair) => `${pair.source_language} ${pair.target_language}`}
            columns={[
              { head: 'Languages', cell: (pair) => `${pair.source_language} → ${pair.target_language}` },
              ...states.map((state) => ({
                head: words(state),
                class: 'number',
                cell: ({ counts }: (typeof pairs)[number]) => count(counts[state] ?? 0),
              })),
            ]}
          />
        );
      }}
    </Panel>
  );
}
