import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { Panel } from '../../components/panel.tsx';
import { Badge, Empty, Prose, Time } from '../../components/text.tsx';
import { useApp } from '../../state/app.ts';
import { count, words } from '../../text/format.ts';
import { counted } from '../../text/counted.ts';
import { UnitLink } from '../unit-link.tsx';

type Blocker = Report<'translation.status'>['publish_blockers'][number];
type Work = Report<'translation.handoff'>['releases'][number];

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
/** Units that are named. */
const SHOWN = 20;

/** Everything that prevents a publication, everything that it leaves out, and the units to go to. */
export function BlockersPanel(): JSX.Element {
  const { pool } = useApp();
  const feed = pool.state<Report<'translation.status'>>('translation.status');
  const handoff = pool.state<Report<'translation.handoff'>>('translation.handoff');
  const work = handoff.value?.releases[0] ?? null;
  return (
    <Panel title="Blockers" feed={feed}>
      {({ publish_blockers: blockers }) => {
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
            {work === null ? null : <UnitLists work={work} />}
          </>
        );
      }}
    </Panel>
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

function UnitLists({ work }: { readonly work: Work }): JSX.Element {
  return (
    <>
      {work.blocked.length === 0 ? null : (
        <>
          <h3>{`Blocked units (${count(work.blocked_total)})`}</h3>
          <ul class="rows">
            {work.blocked.slice(0, SHOWN).map((unit) => (
              <li key={unit.unit_id}>
                <UnitLink unit={unit} /> {unit.codes.map((code) => words(code)).join(', ')}
              </li>
            ))}
            <More total={work.blocked_total} href="#/translate?status=blocked" />
          </ul>
        </>
      )}
      {work.held.length === 0 ? null : (
        <>
          <h3>{`Units on hold (${count(work.held_total)})`}</h3>
          <ul class="rows">
            {work.held.slice(0, SHOWN).map((unit) => (
              <li key={unit.unit_id}>
                <UnitLink unit={unit} mode="review" /> <span>{unit.reason ?? 'without a reason'}</span>{' '}
                <span class="muted">{unit.reviewer}</span> <Time at={unit.since} />
              </li>
            ))}
            <More total={work.held_total} href="#/review" />
          </ul>
        </>
      )}
    </>
  );
}

/** Says how many units of a list are not named, and where they are. */
function More({ total, href }: { readonly total: number; readonly href: string }): JSX.Element | null {
  if (total <= SHOWN) return null;
  return (
    <li class="muted">
      {`and ${count(total - SHOWN)} more. `}
      <a href={href}>Show them</a>
    </li>
  );
}
