import type { JSX } from 'preact';
import { useApp } from '../../../state/app.ts';
import { editorAddress } from '../../../text/addresses.ts';
import { absolute } from '../../../text/format.ts';
import { sessionOf } from './editor-session.ts';
import { isUnsaved, type UnitDraft } from './unit-draft.ts';

/** Whether the text of a unit is safe, in one line that is read out when it changes. */
export function SaveState({ draft, state }: { draft: UnitDraft | undefined; state: string }): JSX.Element {
  const app = useApp();
  const [tone, text] = describe(draft, state, (at) => absolute(at, app.now()));
  const isUnkept = sessionOf(app).desk.isUnkept.value && draft !== undefined && isUnsaved(draft);
  return (
    <p class={`save-state ${tone}`} role="status">
      {text}
      {isUnkept ? ' This browser cannot keep it: leave the page open until it is stored.' : null}
    </p>
  );
}

function describe(
  draft: UnitDraft | undefined,
  state: string,
  clock: (at: number) => string,
): readonly [tone: 'ok' | 'warn' | 'bad' | 'info' | 'idle', text: string] {
  if (draft === undefined) return ['idle', ''];
  const { phase } = draft;
  switch (phase.kind) {
    case 'edited':
      return ['idle', 'Edited; stored when you pause.'];
    case 'saving':
      return ['idle', 'Storing …'];
    case 'saved':
      return state === 'blocked'
        ? ['warn', `△ Stored ${clock(phase.at)}; its findings block it.`]
        : ['ok', `✓ Stored ${clock(phase.at)}${state === 'draft' ? ' as a draft' : ''}.`];
    case 'waiting':
      return phase.reason === 'login'
        ? ['warn', '! Not stored: the server wants a login. Your text is kept in this browser.']
        : [
            'warn',
            '! Not stored yet: the server does not take it now. Your text is kept in this browser, and is sent again.',
          ];
    case 'conflict':
      return ['bad', '! Not stored: it needs your decision. Your text is kept in this browser.'];
    default:
      return ['idle', ''];
  }
}

/** Says outside of the editor that texts are not on the server, and leads to the first of them. */
export function UnsavedNote(): JSX.Element | null {
  const app = useApp();
  const unsaved = [...sessionOf(app).desk.drafts.value.values()].filter(isUnsaved);
  const first = unsaved.find(({ phase }) => phase.kind === 'conflict') ?? unsaved[0];
  if (first === undefined || app.route.view === 'translate-task') return null;
  return (
    <a class="unsaved-note" href={editorAddress(first.taskId, { unit: first.unitId })}>
      <UnsavedCount />
    </a>
  );
}

/** Counts the texts of all units that are not on the server. */
export function UnsavedCount(): JSX.Element | null {
  const { desk } = sessionOf(useApp());
  const unsaved = [...desk.drafts.value.values()].filter(isUnsaved);
  const conflicts = unsaved.filter(({ phase }) => phase.kind === 'conflict').length;
  if (unsaved.length === 0) return <span class="badge ok">✓ All stored</span>;
  if (conflicts > 0) return <span class="badge bad">! {conflicts} to decide</span>;
  return <span class="badge warn">{unsaved.length} not stored yet</span>;
}
