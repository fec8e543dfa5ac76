import { RE2JS, RE2JSException } from 're2js';

/** Names of groups in the patterns of a script, and what their characters are. */
export const SCRIPT_GROUPS = ['text', 'name', 'speaker', 'scene', 'key'] as const;

export type ScriptGroup = (typeof SCRIPT_GROUPS)[number];

/** How the characters of a text are written: as they are, with backslashes, or as in Java's properties. */
export type ScriptEscapes = 'none' | 'backslash' | 'properties';

/** Which lines belong together: none, those behind a backslash, or those that a quote of `"` spans. */
export type ScriptJoins = 'none' | 'backslash' | 'quotes';

/** A pattern of a rule. See `docs/reference/parse-rules.md` for its keys. */
export interface ScriptPatternSource {
  readonly match: string;
  readonly line?: string | undefined;
  readonly block?: boolean | undefined;
}

/** A part of a script with patterns of its own. */
export interface ScriptSectionSource {
  readonly begin: string;
  readonly end?: string | undefined;
  readonly patterns?: readonly ScriptPatternSource[] | undefined;
}

export interface ScriptSource {
  readonly patterns: readonly ScriptPatternSource[];
  readonly sections?: readonly ScriptSectionSource[] | undefined;
  readonly escapes?: ScriptEscapes | undefined;
  readonly joins?: ScriptJoins | undefined;
}

/** A pattern that is ready to match. */
export interface ScriptPattern {
  readonly match: RE2JS;
  readonly line: RE2JS | null;
  readonly groups: ReadonlyMap<ScriptGroup, number>;
  readonly isBlock: boolean;
}

export interface ScriptSection {
  readonly begin: ScriptPattern;
  /** `null`: the section ends in front of the first line that is indented no deeper than its first one. */
  readonly end: RE2JS | null;
  readonly patterns: readonly ScriptPattern[];
}

export interface CompiledScript {
  readonly patterns: readonly ScriptPattern[];
  readonly sections: readonly ScriptSection[];
  readonly escapes: ScriptEscapes;
  readonly joins: ScriptJoins;
}

/** A pattern of a script cannot be used. */
export class ScriptPatternError extends Error {
  /** The keys from the script to the pattern. */
  readonly path: readonly (string | number)[];

  constructor(path: readonly (string | number)[], message: string) {
    super(message);
    this.name = 'ScriptPatternError';
    this.path = path;
  }
}

/**
 * Prepares the patterns of a script. They are regular expressions of RE2: a search takes time in proportion to its line,
 * whatever the pattern is, because upstream chooses the text. Many searches in one line that each look ahead to its end take the
 * product, which only the time limit of a container ends.
 *
 * @throws ScriptPatternError
 */
export function compileScript(source: ScriptSource): CompiledScript {
  const patternsAt = (
    patterns: readonly ScriptPatternSource[],
    path: readonly (string | number)[],
  ): readonly ScriptPattern[] =>
    patterns.map((pattern, index) => compilePattern(pattern, [...path, 'patterns', index]));
  return {
    patterns: patternsAt(source.patterns, []),
    sections: (source.sections ?? []).map(({ begin, end, patterns }, index) => ({
      begin: compilePattern({ match: begin }, ['sections', index], 'begin'),
      end: end === undefined ? null : compileExpression(end, ['sections', index, 'end']),
      patterns: patternsAt(patterns ?? [], ['sections', index]),
    })),
    escapes: source.escapes ?? 'none',
    joins: source.joins ?? 'none',
  };
}

function compilePattern(
  { match, line, block }: ScriptPatternSource,
  path: readonly (string | number)[],
  key = 'match',
): ScriptPattern {
  const at = [...path, key];
  const compiled = compileExpression(match, at);
  const groups = new Map<ScriptGroup, number>();
  for (const [name, index] of Object.entries(compiled.namedGroups())) {
    const known = SCRIPT_GROUPS.find((group) => group === name);
    if (known === undefined) {
      throw new ScriptPatternError(
        at,
        `has a group "${name}"; the groups are ${SCRIPT_GROUPS.join(', ')}, and (?:...) groups without a name`,
      );
    }
    groups.set(known, index);
  }
  const isBlock = block === true;
  if (isBlock && !groups.has('text')) throw new ScriptPatternError(at, 'is a block and has no group "text"');
  return {
    match: compiled,
    line: line === undefined ? null : compileExpression(line, [...path, 'line']),
    groups,
    isBlock,
  };
}

function compileExpression(expression: string, path: readonly (string | number)[]): RE2JS {
  try {
    return RE2JS.compile(expression);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const reason = error.message.replace(/^error parsing regexp: /, '');
    throw new ScriptPatternError(path, `is no regular expression of RE2: ${reason}`);
  }
}
