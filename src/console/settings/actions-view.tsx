import type { JSX } from 'preact';
import { ActionButton } from '../components/controls.tsx';
import { FilterBar } from '../components/filter-bar.tsx';
import { Badge, Empty, Prose } from '../components/text.tsx';
import { useApp, type App } from '../state/app.ts';
import type { View } from '../state/view.ts';
import { words } from '../text/format.ts';
import { matchScore } from '../text/match.ts';

/** By the beginning of the name; all other actions are about the daemon and its releases. */
const GROUPS = [
  ['Schedules', 'schedule-'],
  ['Tasks', 'task-'],
  ['Glossary', 'translation-glossary-'],
  ['Translation Memory', 'translation-memory-'],
  ['Translations', 'translation-'],
  ['Localized releases', 'localized-'],
] as const;
const OTHERS = 'Releases and daemon';

/** Every action that the token may run, from the contract. */
export const actionsView: View = { feeds: () => [], Body: AllActions };

function AllActions(): JSX.Element {
  const app = useApp();
  if (app.index() === null) return <Empty>Loading …</Empty>;
  if (!app.canControl()) {
    return (
      <Empty>
        This server does not forward control actions. Set <code>admin.exposeControl</code> in its
        configuration to allow them.
      </Empty>
    );
  }
  const allowed = Object.keys(app.contract.actions).filter((action) => app.mayRun(action));
  if (allowed.length === 0)
    return <Empty>This token only reads. A token with a scope can run actions.</Empty>;
  const found = allowed.filter((action) => matchScore(wordsOf(app, action), app.query('text')) > 0);
  const byGroup = Map.groupBy(found, groupOf);
  return (
    <>
      <FilterBar
        label="Filter the actions"
        filters={[
          { kind: 'text', name: 'text', label: 'Containing', hint: 'A word such as release or term' },
        ]}
        count={`${found.length} of ${allowed.length} actions`}
      />
      {found.length === 0 ? <Empty>No action matches. Try a word such as “release” or “term”.</Empty> : null}
      {[OTHERS, ...GROUPS.map(([title]) => title)].map((title) => (
        <ActionList key={title} title={title} actions={byGroup.get(title) ?? []} />
      ))}
    </>
  );
}

function ActionList({
  title,
  actions,
}: {
  readonly title: string;
  readonly actions: readonly string[];
}): JSX.Element | null {
  const { contract } = useApp();
  if (actions.length === 0) return null;
  return (
    <section class="panel">
      <h2>{title}</h2>
      <ul class="rows">
        {actions.map((name) => {
          const action = contract.actions[name];
          if (action === undefined) return null;
          return (
            <li class="action-row" key={name}>
              <div>
                <h3>
                  {action.title} {action.destructive ? <Badge tone="warn">Destructive</Badge> : null}
                </h3>
                <p class="muted">
                  <Prose text={action.summary} /> <code>{name}</code>
                </p>
              </div>
              <ActionButton
                request={{ action: name }}
                about={name}
                class={action.destructive ? 'danger' : ''}
              >
                Run …
              </ActionButton>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function groupOf(action: string): string {
  return GROUPS.find(([, prefix]) => action.startsWith(prefix))?.[0] ?? OTHERS;
}

/** The words that a search looks at. */
function wordsOf({ contract }: App, action: string): string {
  const { title = '', summary = '' } = contract.actions[action] ?? {};
  return `${title} ${action} ${words(action)} ${summary}`;
}
