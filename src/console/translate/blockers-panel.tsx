import type { JSX } from 'preact';
import { LEFT_OUT_BLOCKERS, unitsOfState } from '../../domain/translation/left-out-blockers.ts';
import type { Report } from '../api/wire.ts';
import { Panel } from '../components/panel.tsx';
import { Badge, Empty, Prose } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { count, words, counted } from '../text/format.ts';
import { UnitLink } from './unit-link.tsx';

type Work = Report<'translation.handoff'>['releases'][number];

const SHOWN = 20;

/** Everything that prevents a publication, everything that it leaves out, and the units to go to. */
export function BlockersPanel(): JSX.Element {
  const { pool } = useApp();
  const feed = pool.state<Report<'translation.status'>>('translation.status');
  const handoff = pool.state<Report<'translation.handoff'>>('translation.handoff');
  const work = handoff.value?.releases[0] ?? null;
  return (
    <Panel title="Blockers" feed={feed}>
      {({ publish_blockers: blockers, coverage }) => (
        <>
          <BlockerList blockers={blockers} byState={coverage.by_state} />
          {work === null ? null : (
            <BlockedUnits
              work={work}
              blocking={blockers.find(({ code }) => code === 'qa_blocked')?.count ?? 0}
            />
          )}
        </>
      )}
    </Panel>
  );
}

/** @param props `blocking`: blocked units that prevent a publication */
function BlockedUnits({
  work: { blocked, blocked_total: total },
  blocking,
}: {
  work: Work;
  blocking: number;
}) {
  if (total === 0) return null;
  return (
    <>
      <h3>{`Blocked units (${count(total)})`}</h3>
      <p class="muted">{blockedNote(total, blocking)}</p>
      <ul class="rows">
        {blocked.slice(0, SHOWN).map((unit) => (
          <li key={unit.unit_id}>
            <UnitLink unit={unit} /> {unit.codes.map(words).join(', ')}
          </li>
        ))}
        {total > SHOWN ? (
          <li class="muted">
            {`and ${count(total - SHOWN)} more. `}
            <a href="#/translate?unit_state=blocked">Show them</a>
          </li>
        ) : null}
      </ul>
    </>
  );
}

function blockedNote(all: number, blocking: number): string {
  if (blocking >= all) return `${all === 1 ? 'It prevents' : 'They prevent'} a publication.`;
  const others =
    'keep their official text: they are on hold, not submitted yet, or in files or tasks that are not published.';
  return blocking === 0
    ? `None of them prevents a publication. They ${others}`
    : `${count(blocking)} of them ${blocking === 1 ? 'prevents' : 'prevent'} a publication. The others ${others}`;
}

type Blocker = Report<'translation.status'>['publish_blockers'][number];
type ByState = Report<'translation.status'>['coverage']['by_state'];

const UNITS: Readonly<Record<string, string>> = {
  qa_blocked: 'with findings that block them',
  on_hold: 'on hold until someone reviews them',
  stale: 'whose source text has changed',
  untranslated: 'without a translation',
  below_min_state: 'below the lowest state that is published',
};

function isLeftOut({ code }: Blocker): boolean {
  return LEFT_OUT_BLOCKERS.has(code);
}

/** The number of blocked units, and of those that no publication has. */
export function blockedText({
  blocked,
  blocked_left_out: leftOut,
}: Report<'translation.status'>['coverage']): string {
  return leftOut
    ? `${count(blocked)} (${leftOut === blocked ? '' : `${count(leftOut)} `}in ${leftOut === 1 ? 'a file or task that is' : 'files or tasks that are'} not published)`
    : count(blocked);
}

function BlockerList({ blockers, byState }: { blockers: readonly Blocker[]; byState: ByState }) {
  return (
    <>
      {blockers.every(isLeftOut) ? <Empty>Nothing prevents a publication.</Empty> : null}
      <ul class="rows">
        {blockers
          .toSorted((one, other) => Number(isLeftOut(one)) - Number(isLeftOut(other)))
          .map((blocker) => (
            <BlockerRow blocker={blocker} byState={byState} key={blocker.code} />
          ))}
      </ul>
    </>
  );
}

function BlockerRow({ blocker, byState }: { blocker: Blocker; byState: ByState }) {
  const { code, message, count: units, unit_state: state } = blocker;
  const ofUnits = UNITS[code];
  const all = unitsOfState(blocker, byState);
  const number = all === null ? counted(units, 'unit') : `${count(units)} of ${counted(all, 'unit')}`;
  const address = code === 'on_hold' ? '#/review' : state && `#/translate?unit_state=${state}`;
  return (
    <li>
      {isLeftOut(blocker) ? <Badge tone="warn">Left out</Badge> : <Badge tone="bad">Blocks</Badge>}{' '}
      <strong>{ofUnits === undefined ? words(code) : number}</strong> <Prose text={ofUnits ?? message} />
      {all === null ? '' : `; the others are on hold, or in files or tasks that are not published`}{' '}
      {address && <a href={address}>{(all ?? units) === 1 ? 'Show it' : 'Show them'}</a>}
    </li>
  );
}
