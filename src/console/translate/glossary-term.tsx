import type { JSX } from 'preact';
import type { FeedState } from '../api/live-feed.ts';
import type { Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { Panel } from '../components/panel.tsx';
import { JsonDetails } from '../components/result-facts.tsx';
import { Table } from '../components/table.tsx';
import { EmptyState, Badge, Facts, Time } from '../components/text.tsx';
import { termAddress } from '../text/addresses.ts';
import { count, words } from '../text/format.ts';
import { mergedBody, TERM_TONES, TermActions, duplicatesOf, type Term } from './term-parts.tsx';

/** One term: what it says, its duplicates, and its history. */
export function GlossaryTerm({
  id,
  feed,
}: {
  readonly id: string;
  readonly feed: FeedState<Report<'translation.glossary.query'>>;
}): JSX.Element {
  const term = feed.value?.items.find(({ term_id: each }) => each === id);
  return (
    <Panel
      title={term === undefined ? 'Term' : `Term ${term.source_term}`}
      feed={feed}
      tools={term === undefined ? null : <TermActions term={term} />}
    >
      {({ items, total }) =>
        term === undefined ? (
          <EmptyState title="No such term" actions={<a href="#/glossary">All terms</a>}>
            {total > items.length
              ? `It is not among the first ${count(items.length)} of ${count(total)} terms. Search for its source term in the list.`
              : 'It was deleted, or its source term was changed. Search for it in the list.'}
          </EmptyState>
        ) : (
          <>
            <TermFacts term={term} />
            <Duplicates term={term} duplicates={duplicatesOf(term, items)} />
            <History term={term} />
            <JsonDetails label={`Term ${id}`} value={term} />
          </>
        )
      }
    </Panel>
  );
}

function TermFacts({ term }: { term: Term }) {
  const { source } = term;
  const scope = Object.entries(term.scope).map(([key, value]) => `${key}: ${value}`);
  return (
    <Facts
      rows={[
        [
          'State',
          <Badge key="state" tone={TERM_TONES[term.review_status]}>
            {words(term.review_status)}
          </Badge>,
        ],
        ['Source term', term.source_term],
        ['Other spellings', term.aliases.join(', ')],
        ['Translation', term.recommended_translation],
        ['Also allowed', term.allowed_translations.join(', ')],
        ['Languages', `${term.source_language} → ${term.target_language}`],
        ['Category', term.category],
        ['Priority', String(term.priority)],
        ['Only where', scope.join(', ')],
        [
          'Source',
          [words(source.source_kind), source.source_ref, source.source_author].filter(Boolean).join(', '),
        ],
        ['Note', source.source_note],
        ['Changed', <Time clock="beside" key="changed" at={term.updated_at} />],
        ['Id', <code key="id">{term.term_id}</code>],
      ]}
    />
  );
}

function Duplicates({ term, duplicates }: { term: Term; duplicates: readonly Term[] }) {
  if (duplicates.length === 0) return null;
  return (
    <section aria-labelledby="duplicates-title">
      <h3 id="duplicates-title">Duplicates</h3>
      <p class="muted">
        These terms have the same source term. Merge one into this term: first its translations become allowed
        here, then remove it.
      </p>
      <ul class="rows">
        {duplicates.map((duplicate) => (
          <li key={duplicate.term_id} class="duplicate">
            <a href={termAddress(duplicate.term_id, duplicate.source_term)}>
              {duplicate.recommended_translation}
            </a>{' '}
            <Badge tone={TERM_TONES[duplicate.review_status]}>{words(duplicate.review_status)}</Badge>{' '}
            <span class="muted">{duplicate.category}</span>
            <span class="tools">
              <ActionButton
                request={{
                  action: 'translation-glossary-update',
                  title: `Merge “${duplicate.recommended_translation}” into “${term.recommended_translation}”`,
                  fixed: { term_id: term.term_id },
                  body: mergedBody(term, duplicate),
                }}
                about={duplicate.recommended_translation}
              >
                Take its translations
              </ActionButton>
              <TermActions term={duplicate} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function History({ term }: { term: Term }) {
  return (
    <section aria-labelledby="history-title">
      <h3 id="history-title">History</h3>
      {term.review_history.length === 0 ? (
        <p class="muted">There are no decisions yet.</p>
      ) : (
        <Table
          caption={`History of ${term.source_term}, oldest first`}
          rows={term.review_history}
          keyOf={({ revision, action, at }) => `${revision} ${action} ${at}`}
          columns={[
            { head: 'Decision', cell: ({ action }) => words(action) },
            {
              head: 'State',
              cell: ({ from, to }) =>
                [from, to]
                  .filter((state) => state !== null)
                  .map(words)
                  .join(' → ') || '–',
            },
            { head: 'By', cell: ({ reviewer, token_id: token }) => reviewer ?? token ?? '–' },
            { head: 'When', cell: ({ at }) => <Time at={at} /> },
            { head: 'Why', class: 'wide', cell: ({ reason }) => reason ?? '–' },
          ]}
        />
      )}
    </section>
  );
}
