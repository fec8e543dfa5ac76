import type { JSX } from 'preact';
import type { AdminIndex } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { Badge, Prose } from '../components/text.tsx';
import { words } from '../text/format.ts';

/** One action of the index. */
export type IndexedAction = AdminIndex['actions'][number];

/** Actions with what they do, under a title. */
export function ActionCards({
  title,
  actions,
}: {
  readonly title: string;
  readonly actions: readonly IndexedAction[];
}): JSX.Element {
  return (
    <section class="panel">
      <h2>{title}</h2>
      <ul class="cards">
        {actions.map(({ action, summary, mode, destructive }) => (
          <li class="card" key={action}>
            <h3>
              {words(action)}
              {destructive ? (
                <>
                  {' '}
                  <Badge tone="warn">Destructive</Badge>
                </>
              ) : null}
              {mode === 'inline' ? null : (
                <>
                  {' '}
                  <Badge tone="quiet">Runs as a task</Badge>
                </>
              )}
            </h3>
            <p>
              <Prose text={summary} />
            </p>
            <ActionButton request={{ action }} about={action} class={destructive ? 'danger' : ''}>
              Run …
            </ActionButton>
          </li>
        ))}
      </ul>
    </section>
  );
}
