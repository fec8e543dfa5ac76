import type { ComponentChildren, JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { count, words } from '../text/format.ts';
import { BlockerList } from './blocker-list.tsx';
import { UnitLink } from './unit-link.tsx';

type Work = Report<'translation.handoff'>['releases'][number];

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
      {({ publish_blockers: blockers }) => (
        <>
          <BlockerList blockers={blockers} />
          {work === null ? null : <UnitLists work={work} />}
        </>
      )}
    </Panel>
  );
}

function UnitLists({ work }: { readonly work: Work }): JSX.Element {
  const { blocked, blocked_total: blockedTotal, held, held_total: heldTotal } = work;
  return (
    <>
      <UnitList title="Blocked units" total={blockedTotal} href="#/translate?unit_state=blocked">
        {blocked.slice(0, SHOWN).map((unit) => (
          <li key={unit.unit_id}>
            <UnitLink unit={unit} /> {unit.codes.map(words).join(', ')}
          </li>
        ))}
      </UnitList>
      <UnitList title="Units on hold" total={heldTotal} href="#/review">
        {held.slice(0, SHOWN).map((unit) => (
          <li key={unit.unit_id}>
            <UnitLink unit={unit} mode="review" />{' '}
            {[unit.reviewer, unit.reason].map((text) => text && `${text}, `)}
            <Time at={unit.since} />
          </li>
        ))}
      </UnitList>
    </>
  );
}

/** Units by name, with a link to those that are not named; nothing where there is none. */
function UnitList({
  title,
  total,
  href,
  children,
}: {
  readonly title: string;
  readonly total: number;
  readonly href: string;
  readonly children: ComponentChildren;
}): JSX.Element | null {
  if (total === 0) return null;
  return (
    <>
      <h3>{`${title} (${count(total)})`}</h3>
      <ul class="rows">
        {children}
        {total > SHOWN ? (
          <li class="muted">
            {`and ${count(total - SHOWN)} more. `}
            <a href={href}>Show them</a>
          </li>
        ) : null}
      </ul>
    </>
  );
}
