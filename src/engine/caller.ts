import type { IncomingHttpHeaders } from 'node:http';
import { actionDefinition, type ControlAction } from '../contract/actions/actions.ts';
import type { ControlField } from '../contract/actions/control-body.ts';
import {
  CALLER_FIELDS,
  missingScopes,
  TOKEN_ID,
  type Caller,
  type ControlScope,
} from '../contract/actions/control-scopes.ts';
import { CONTROL_SCOPES } from '../contract/schemas/vocabulary.ts';
import { ServiceError } from '../contract/problems/service-error.ts';
import type { JobRegistry } from './tasks/job.ts';

/**
 * Reads who sent a control call, as the server tells it. A call without these fields comes from a holder of the shared token
 * and may do everything.
 *
 * @throws ServiceError `invalid_request` for fields that no server sends
 */
export function callerOf(headers: IncomingHttpHeaders): Caller {
  const tokenId = single(headers, CALLER_FIELDS.tokenId);
  const allow = single(headers, CALLER_FIELDS.allow);
  const scopes = allow?.split(',').filter((name) => name !== '') ?? null;
  const isKnown = scopes?.every(isScope) ?? true;
  if ((tokenId !== null && !TOKEN_ID.test(tokenId)) || !isKnown) {
    throw new ServiceError(
      'invalid_request',
      `${CALLER_FIELDS.tokenId} or ${CALLER_FIELDS.allow} is not valid`,
    );
  }
  return { tokenId, allow: scopes?.filter(isScope) ?? null };
}

function single(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

function isScope(name: string): name is ControlScope {
  return CONTROL_SCOPES.some((scope) => scope === name);
}

/**
 * Refuses a call that the caller's token is not allowed to make.
 *
 * @param named the scopes of the jobs whose schedules or tasks the body names
 * @throws ServiceError `scope_missing`
 */
export function checkScopes(
  caller: Caller,
  action: ControlAction,
  body: Readonly<Partial<Record<ControlField, unknown>>>,
  named: readonly ControlScope[],
): void {
  const { scope, reviewFields = [] } = actionDefinition(action);
  const isDecision = reviewFields.some((field) => body[field] !== undefined);
  const needed = [
    ...named,
    ...(scope === 'named' ? [] : [scope]),
    ...(isDecision ? (['review'] as const) : []),
  ];
  const missing = missingScopes(caller, needed);
  if (missing.length === 0) return;
  throw new ServiceError(
    'scope_missing',
    `the token ${caller.tokenId ?? ''} is not allowed to do this: ${action} needs ${missing.join(' and ')}, and the token has ${caller.allow?.join(', ') || 'nothing'}; use another token, or add to auth.tokens[].allow`,
  );
}

/**
 * The scopes that running, scheduling or cancelling a kind of task needs; `operate` for a kind that this daemon cannot run, and
 * none for a job that only reads.
 *
 * @param args its `key=value` arguments
 */
export function scopesOfKind(
  kind: string,
  jobs: JobRegistry,
  args: readonly string[] = [],
): readonly ControlScope[] {
  const job = jobs.find(kind);
  if (job === null) return ['operate'];
  const switches = job.reviewSwitches ?? [];
  const decides = args.some((pair) =>
    switches.some((name) => pair.startsWith(`${name}=`) && pair !== `${name}=false`),
  );
  const own = job.scope === 'read' ? [] : [job.scope];
  return decides ? [...own, 'review'] : own;
}
