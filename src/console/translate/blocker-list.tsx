import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { Badge, Empty, Prose } from '../components/text.tsx';
import { counted, words } from '../text/format.ts';

type Blocker = Report<'translation.status'>['publish_blockers'][number];

/** Units of these keep the official text; the other codes prevent a publication. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  on_hold: '#/translate',
  stale: '#/translate',
  untranslated: '#/translate?status=pending',
  below_min_state: '#/review',
};
/** Describes the units of a code; the message of the daemon describes the others. */
const UNITS: Readonly<Record<string, string>> = {
  qa_blocked: 'with findings that block them',
  on_hold: 'on hold until someone reviews them',
  stale: 'whose source text has changed',
  untranslated: 'without a translation',
  below_min_state: 'below the state that a publication asks for',
};
/** Says which units and conditions prevent a publication, and which units it leaves out. */
export function BlockerList({ blockers }: { readonly blockers: readonly Blocker[] }): JSX.Element {
  const hard = blockers.filter(({ code }) => LEFT_OUT[code] === undefined);
  const soft = blockers.filter(({ code }) => LEFT_OUT[code] !== undefined);
  return (
    <>
      {hard.length === 0 ? <Empty>Nothing prevents a publication.</Empty> : null}
      <ul class="rows">
        {hard.map((blocker) => (
          <BlockerRow blocker={blocker} tone="bad" word="Blocks" key={blocker.code} />
        ))}
        {soft.map((blocker) => (
          <BlockerRow blocker={blocker} tone="warn" word="Left out" key={blocker.code} />
        ))}
      </ul>
    </>
  );
}

function BlockerRow({
  blocker: { code, message, count: units },
  tone,
  word,
}: {
  readonly blocker: Blocker;
  readonly tone: 'bad' | 'warn';
  readonly word: string;
}): JSX.Element {
  const address = code === 'qa_blocked' ? '#/translate?status=blocked' : LEFT_OUT[code];
  return (
    <li>
      <Badge tone={tone}>{word}</Badge>{' '}
      {UNITS[code] === undefined ? (
        <>
          <strong>{words(code)}</strong> <Prose text={message} />
        </>
      ) : (
        <>
          <strong>{counted(units, 'unit')}</strong> {UNITS[code]}
        </>
      )}{' '}
      {address === undefined ? null : <a href={address}>Show the tasks</a>}
    </li>
  );
}
