import type { FeedRequest } from '../api/feed-pool.ts';
import type { Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Panel } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { EmptyState, Badge, Empty } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import { reportFeed, reportState } from '../state/read-report.ts';
import type { View } from '../state/view.ts';
import { termAddress } from '../text/addresses.ts';
import { counted, count, words } from '../text/format.ts';
import { ExchangeHelp } from './exchange-help.tsx';
import { ImportPanel } from './glossary-import/import-panel.tsx';
import { GlossaryTerm } from './glossary-term.tsx';
import { TERM_TONES, TermActions, duplicatesOf, type Term } from './term-parts.tsx';

const MOST_TERMS = '1000';
/** A longer list is read more rarely. */
const MANY_TERMS = 200;

export const glossaryView: View = {
  feeds: (app) => [reportFeed(app, 'translation.glossary.summary'), termsFeed(app)],
  Body: () => {
    const id = useApp().route.argument;
    const feed = useTerms();
    return id === null ? <Glossary /> : <GlossaryTerm id={id} feed={feed} />;
  },
};

/**
 * The filters, as the report takes them. A page of one term wants the terms with its source term; without it in the address,
 * as many as one answer has.
 */
function termsQuery(app: App): Readonly<Record<string, string>> {
  if (app.route.argument !== null) {
    const source = app.query('source');
    return { limit: MOST_TERMS, ...(source === '' ? {} : { source_text: source }) };
  }
  const filters = {
    source_text: app.query('text'),
    category: app.query('category'),
    review_status: app.query('state'),
  };
  return {
    limit: MOST_TERMS,
    ...Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')),
  };
}

function termsKey(app: App): string {
  return `translation.glossary.query:${JSON.stringify(termsQuery(app))}`;
}

function termsFeed(app: App): FeedRequest {
  return reportFeed(app, 'translation.glossary.query', {
    key: termsKey(app),
    query: termsQuery(app),
    everyMs: ({ items }) => (items.length > MANY_TERMS ? 60_000 : 10_000),
  });
}

function useTerms() {
  const app = useApp();
  return app.pool.state<Report<'translation.glossary.query'>>(termsKey(app));
}

function Glossary() {
  return (
    <>
      <Summary />
      <Terms />
      <ExchangeHelp kind="glossary">
        <LocalImport />
      </ExchangeHelp>
    </>
  );
}

function LocalImport() {
  const app = useApp();
  const summary = reportState(app, 'translation.glossary.summary').value;
  if (summary === null || !app.mayRun('translation-glossary-add')) return null;
  const [pair] = summary.pairs;
  if (pair === undefined || summary.pairs.length > 1) {
    return (
      <p class="muted">
        {`The Glossary has ${counted(summary.pairs.length, 'pair')} of languages. A file of this computer can be imported when it has one; add a first term for that.`}
      </p>
    );
  }
  return (
    <ImportPanel pair={{ sourceLanguage: pair.source_language, targetLanguage: pair.target_language }} />
  );
}

function Summary() {
  const app = useApp();
  const feed = reportState(app, 'translation.glossary.summary');
  return (
    <Panel title="Terms by state" feed={feed} tools={<AddTerm />}>
      {({ available, reason, counts }) =>
        available ? (
          <ul class="counts">
            {app.contract.vocabulary.term_state.map((state) => (
              <li key={state}>
                <button
                  type="button"
                  class="plain"
                  aria-pressed={app.query('state') === state}
                  onClick={() => app.setQuery({ state: app.query('state') === state ? null : state })}
                >
                  <Badge tone={TERM_TONES[state]}>{words(state)}</Badge> {count(counts[state] ?? 0)}
                </button>
              </li>
            ))}
          </ul>
        ) : (
          <Empty>{`The Glossary is not available: ${reason ?? 'no reason is known'}.`}</Empty>
        )
      }
    </Panel>
  );
}

function AddTerm() {
  return (
    <ActionButton request={{ action: 'translation-glossary-add' }} class="primary">
      Add a term
    </ActionButton>
  );
}

function Terms() {
  const app = useApp();
  const feed = useTerms();
  const found = feed.value;
  const categories = [...new Set((found?.items ?? []).map(({ category }) => category))]
    .filter(Boolean)
    .toSorted();
  return (
    <div class="filtered-list">
      <FilterBar
        label="Filter the terms"
        filters={[
          { kind: 'text', name: 'text', label: 'Containing', hint: 'Source term or other spelling' },
          {
            kind: 'choice',
            name: 'state',
            label: 'State',
            options: app.contract.vocabulary.term_state.map((state) => [state, words(state)]),
          },
          {
            kind: 'choice',
            name: 'category',
            label: 'Category',
            options: categories.map((each) => [each, each]),
          },
        ]}
        {...(found === null ? {} : { count: `${count(found.items.length)} of ${count(found.total)}` })}
      />
      <Panel title="Terms" feed={feed}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="No terms here" actions={<AddTerm />}>
              Terms say how a word is translated. Clear the filters, add a term, or import a file.
            </EmptyState>
          ) : (
            <TermTable items={items} />
          )
        }
      </Panel>
    </div>
  );
}

function TermTable({ items }: { items: readonly Term[] }) {
  const bySource = Map.groupBy(items, ({ source_term: source }) => source);
  const duplicates = (term: Term): number => duplicatesOf(term, bySource.get(term.source_term) ?? []).length;
  return (
    <Table
      caption="Terms"
      rows={items}
      keyOf={({ term_id: id }) => id}
      columns={[
        {
          head: 'Source term',
          cell: (term) => (
            <>
              <a href={termAddress(term.term_id, term.source_term)} lang={term.source_language}>
                {term.source_term}
              </a>
              <div class="muted">{term.aliases.join(', ')}</div>
            </>
          ),
        },
        {
          head: 'Translation',
          cell: (term) => (
            <>
              <span lang={term.target_language}>{term.recommended_translation}</span>
              <div class="muted">{term.allowed_translations.join(', ')}</div>
            </>
          ),
        },
        {
          head: 'State',
          narrow: 'aside',
          cell: (term) => (
            <>
              <Badge tone={TERM_TONES[term.review_status]}>{words(term.review_status)}</Badge>{' '}
              {duplicates(term) > 0 ? <Badge tone="warn">Duplicate</Badge> : null}
            </>
          ),
        },
        { head: 'Category', cell: ({ category }) => (category === '' ? '–' : category) },
        { head: 'Languages', cell: (term) => `${term.source_language} → ${term.target_language}` },
        { head: 'Actions', class: 'tools', cell: (term) => <TermActions term={term} /> },
      ]}
    />
  );
}
