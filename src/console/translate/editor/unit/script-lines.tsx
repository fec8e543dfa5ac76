import type { JSX } from 'preact';
import { useApp } from '../../../state/app.ts';
import { readableText } from '../../../text/text-tokens.ts';
import { sessionOf } from '../draft/editor-session.ts';
import type { FoundUnit } from '../list/unit-scan.tsx';

/** Lines of the script before or after the open unit, each with its speaker and its translation. */
export function ScriptLines({
  lines,
  label,
  onOpen,
}: {
  readonly lines: readonly FoundUnit[];
  readonly label: string;
  readonly onOpen: (index: number) => void;
}): JSX.Element | null {
  const drafts = sessionOf(useApp()).desk.drafts.value;
  if (lines.length === 0) return null;
  return (
    <ol class="script" aria-label={label}>
      {lines.map(({ index, unit: { unit_id: id, source_text: source, speaker, translation } }) => {
        const draft = drafts.get(id);
        const isNewer = (draft?.base.revision ?? 0) >= (translation?.revision ?? 0);
        const target = (isNewer ? draft?.text : undefined) ?? translation?.target_text ?? '';
        return (
          <li key={id} class={speaker === null ? '' : 'said'} onClick={() => onOpen(index)}>
            {speaker === null ? null : <bdi class="script-speaker">{speaker}</bdi>}
            <bdi class="script-source">{readableText(source)}</bdi>
            {target === '' ? null : <bdi class="script-target">{readableText(target)}</bdi>}
          </li>
        );
      })}
    </ol>
  );
}
