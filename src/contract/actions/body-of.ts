import type { z } from 'zod';
import type { FieldChoice } from './action-definition.ts';
import type { ActionTable, AuditField, ControlAction } from './actions.ts';
import type { ControlBody, ControlField, ControlSwitch } from './control-body.ts';

type Narrowed<A extends ControlAction> = ActionTable[A] extends { readonly fields: infer F } ? F : object;

type ValueOf<A extends ControlAction, F extends ControlField> = F extends keyof Narrowed<A>
  ? Narrowed<A>[F] extends z.ZodType
    ? z.output<Narrowed<A>[F]>
    : never
  : F extends ControlSwitch
    ? true
    : NonNullable<ControlBody[F]>;

type RequiredField<A extends ControlAction> = ActionTable[A]['required'][number];
type UsedField<A extends ControlAction> = ActionTable[A]['used'][number] | AuditField;
type ExactlyOne<A extends ControlAction> = Extract<ActionTable[A]['choices'][number], { rule: 'one' }>;

/** One member for each field of the choice: it is given and the others are not. */
type OneOf<A extends ControlAction, F extends ControlField> = {
  [Given in F]: { readonly [K in Given]: ValueOf<A, K> } & {
    readonly [K in Exclude<F, Given>]?: undefined;
  };
}[F];

type Chosen<A extends ControlAction> = [ExactlyOne<A>] extends [never]
  ? unknown
  : ExactlyOne<A> extends FieldChoice
    ? OneOf<A, ExactlyOne<A>['fields'][number]>
    : unknown;

/**
 * The typed body of one control action: the fields that the action requires, those that it uses, and the audit fields.
 * Where exactly one of several fields is required, a union. Switches that are false are left out.
 */
export type BodyOf<A extends ControlAction> = {
  readonly [F in RequiredField<A>]: ValueOf<A, F>;
} & {
  readonly [F in Exclude<UsedField<A>, RequiredField<A>>]?: ValueOf<A, F>;
} & Chosen<A>;
