import type { JSX } from 'preact';
import { LEFT_OUT_BLOCKERS } from '../../domain/translation/left-out-blockers.ts';
import type { Report } from '../api/wire.ts';
import { Badge, Empty, Prose } from '../components/text.tsx';
import { count, counted, words } from '../text/format.ts';

type Blocker = Report<'translation.status'>['publish_blockers'][number];

/** Describes the units of a code; the message of the daemon describes the others. */
const UNITS: Readonly<Record<string, string>> = {
  qa_blocked: 'with findings that block them',
  on_hold: 'on hold until someone reviews them',
  stale: 'whose source text has changed',
  untranslated: 'without a translation',
  below_min_state: 'below the state that a publication asks for',
};

/** Whether a publication leaves the units out; the other blockers prevent it. */
function isLeftOut({ code }: Blocker): boolean {
  return LEFT_OUT_BLOCKERS.has(code);
}

/** The number of blocked units, and of those that no publication has. */
export function blockedText({
  blocked,
  blocked_left_out: leftOut,
}: Report<'translation.status'>['coverage']): string {
  return `${count(blocked)}${leftOut ? `, ${count(leftOut)} of them in files or tasks that are not published` : ''}`;
}

/** Says which units and conditions prevent a publication, and which units it leaves out. */
export function BlockerList({ blockers }: { readonly blockers: readonly Blocker[] }): JSX.Element {
  return (
    <>
      {blockers.every(isLeftOut) ? <Empty>Nothing prevents a publication.</Empty> : null}
      <ul class="rows">
        {blockers
          .toSorted((one, other) => Number(isLeftOut(one)) - Number(isLeftOut(other)))
          .map((blocker) => (
            <BlockerRow blocker={blocker} key={blocker.code} />
          ))}
      </ul>
    </>
  );
}

function BlockerRow({ blocker }: { readonly blocker: Blocker }): JSX.Element {
  const { code, message, count: units, unit_state: state } = blocker;
  const ofUnits = UNITS[code];
  const address = code === 'on_hold' ? '#/review' : state && `#/translate?unit_state=${state}`;
  return (
    <li>
      {isLeftOut(blocker) ? <Badge tone="warn">Left out</Badge> : <Badge tone="bad">Blocks</Badge>}{' '}
      <strong>{ofUnits === undefined ? words(code) : counted(units, 'unit')}</strong>{' '}
      <Prose text={ofUnits ?? message} /> {address && <a href={address}>Show them</a>}
    </li>
  );
}
