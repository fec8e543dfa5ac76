import type { JSX } from 'preact';
import { ActionCards, type IndexedAction } from '../actions/action-cards.tsx';
import { Empty } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import type { View } from '../state/view.ts';

/** By the beginning of the name; all other actions are about the daemon and its releases. */
const GROUPS = [
  ['Schedules', 'schedule-'],
  ['Tasks', 'task-'],
  ['Translation', 'translation-'],
  ['Localized releases', 'localized-'],
] as const;

/** Every action of the server. */
export const controlView: View = { feeds: () => [], Body: Control };

function Control(): JSX.Element {
  const app = useApp();
  const index = app.index();
  if (index === null) return <Empty>Loading …</Empty>;
  if (!app.canControl()) {
    return (
      <Empty>
        This server does not forward control actions. Set <code>admin.exposeControl</code> in its
        configuration to allow them.
      </Empty>
    );
  }
  const { actions } = index;
  const isOther = ({ action }: IndexedAction): boolean =>
    GROUPS.every(([, prefix]) => !action.startsWith(prefix));
  return (
    <>
      <ActionCards title="Releases and daemon" actions={actions.filter(isOther)} />
      {GROUPS.map(([title, prefix]) => (
        <ActionCards
          key={title}
          title={title}
          actions={actions.filter(({ action }) => action.startsWith(prefix))}
        />
      ))}
    </>
  );
}
