import { bytesSource } from '../../../formats/byte-source.ts';
import { nestedEntry, nestedName, type Part } from '../../../parse/container/container-run.ts';
import type { CompiledRule } from '../../../parse/rules/compile-rules.ts';

/** A file in an archive. Edits name it exactly, so its stable name is not needed. */
export function entryPart(archive: Part, name: string, content: Uint8Array): Part {
  return {
    source: bytesSource(content),
    name,
    ...nestedName(archive, name, name),
    depth: archive.depth + 1,
  };
}

/** The passwords of the entries of an archive, by their names. */
export function entryPasswords(
  rule: Pick<CompiledRule, 'password'>,
  { entry }: Pick<Part, 'entry'>,
): (name: string) => Uint8Array | null {
  return (name) => rule.password(nestedEntry(entry, name));
}
