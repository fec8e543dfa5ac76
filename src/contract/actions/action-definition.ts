import type { z } from 'zod';
import type { ProblemCode } from '../problems/problems.ts';
import type { ControlField } from './control-body.ts';
import type { ControlScope } from './control-scopes.ts';

/** Alternative fields: how many of them a body holds. */
export interface FieldChoice {
  readonly fields: readonly ControlField[];
  /** `one`: exactly one; `some`: at least one; `exclusive`: at most one. */
  readonly rule: 'one' | 'some' | 'exclusive';
  /** The subject of the choice, for forms. */
  readonly title?: string;
  /** The effect when none of them is given, for forms. */
  readonly otherwise?: string;
}

/** One control action: what it does and what its body must hold. */
export interface ActionDefinition {
  /** Its effect in two to six words, for buttons and headings; the name of its object can follow. */
  readonly title: string;
  readonly summary: string;
  /** `inline` actions are done when they are answered; `queued` ones are observed through their task. */
  readonly mode: 'inline' | 'queued' | 'inline or queued';
  /** The scope that a token needs; `named`: the one of the job whose schedule or task the body names, if it has one. */
  readonly scope: ControlScope | 'named';
  /** Fields that are decisions of a reviewer: a body that holds one needs the scope `review` too. */
  readonly reviewFields?: readonly ControlField[];
  /** Whether it removes or stops something that cannot be restored easily; the console asks before it sends it. */
  readonly destructive: boolean;
  /** How a destructive action is taken back, one sentence; without it nothing takes it back. */
  readonly reversal?: string;
  readonly required: readonly ControlField[];
  readonly used: readonly ControlField[];
  readonly choices: readonly FieldChoice[];
  /** The values that this action accepts in a field, if they are fewer than the control body allows. */
  readonly fields?: { readonly [F in ControlField]?: z.ZodType };
  /** Whether `args` takes `dry_run=true`, which says what would happen and changes nothing. */
  readonly hasDryRun?: true;
  /** Codes with which the daemon refuses it, beyond the common ones. */
  readonly errors: readonly ProblemCode[];
}
