import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';

type MemoryRecord = Report<'translation.memory.query'>['matches'][number]['record'];

/** What a reviewer can do with a record of the Translation Memory: confirm it, give it another target, or reject it. */
export function RecordActions({
  record: { record_id: id, state, target_text: target },
}: {
  readonly record: MemoryRecord;
}): JSX.Element {
  const action = 'translation-memory-confirm';
  return (
    <>
      {state === 'candidate' ? (
        <ActionButton request={{ action, about: target, fixed: { record_id: id } }} about={target}>
          Confirm
        </ActionButton>
      ) : null}
      <ActionButton
        class="plain"
        request={{
          action,
          title: 'Edit a memory record',
          fixed: { record_id: id },
          initial: { 'args.target': target },
        }}
        about={target}
      >
        Edit …
      </ActionButton>
      <ActionButton
        class="plain"
        request={{ action, title: 'Reject a memory record', fixed: { record_id: id, 'args.reject': true } }}
        about={target}
      >
        Reject …
      </ActionButton>
    </>
  );
}
