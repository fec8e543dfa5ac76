import type { JSX } from 'preact';
import type { Report } from '../../api/wire.ts';
import { Time } from '../../components/text.tsx';
import { count } from '../../text/format.ts';
import { UnitLink } from '../unit-link.tsx';

type HandoffRelease = Report<'translation.handoff'>['releases'][number];

/** Units on hold until someone reviews them. */
export function HeldList({ release }: { readonly release: HandoffRelease | undefined }): JSX.Element {
  const held = release?.held ?? [];
  if (release === undefined || held.length === 0)
    return <p class="empty">No unit is on hold. A rollback or a reviewer puts units on hold.</p>;
  return (
    <>
      <ul class="rows">
        {held.map((unit) => (
          <li key={unit.unit_id}>
            <UnitLink unit={unit} mode="review" />
            {unit.reason === null ? null : (
              <p>
                “<bdi>{unit.reason}</bdi>”
              </p>
            )}
            <p class="muted">
              <bdi>{unit.reviewer ?? 'A rollback'}</bdi>, <Time at={unit.since} />
            </p>
          </li>
        ))}
      </ul>
      {release.held_total > held.length ? (
        <p class="muted">
          The first {count(held.length)} of {count(release.held_total)}.
        </p>
      ) : null}
    </>
  );
}
