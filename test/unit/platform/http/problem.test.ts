import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ProblemSchema } from '../../../../src/contract/problems/problem-schema.ts';
import { PROBLEMS, type ProblemCode } from '../../../../src/contract/problems/problems.ts';
import { ServiceError } from '../../../../src/contract/problems/service-error.ts';
import { REASONS, type Reason } from '../../../../src/domain/verdict/reasons.ts';
import { renderProblem, sendProblem } from '../../../../src/platform/http/problem.ts';

const RUNBOOKS = resolve(import.meta.dirname, '../../../../docs/runbooks');
const CODES = Object.keys(PROBLEMS) as ProblemCode[];

function bodyOf(error: unknown): Record<string, unknown> {
  return JSON.parse(renderProblem(error, 'request-1').body.toString()) as Record<string, unknown>;
}

class Recorder {
  headersSent = false;
  destroyed = false;
  head: unknown[] = [];
  body: Buffer | undefined;
  readonly req: { readonly method: string };

  constructor(method: string) {
    this.req = { method };
  }
  writeHead(...head: unknown[]): void {
    this.head = head;
  }
  end(body?: Buffer): void {
    this.body = body;
  }
  destroy(): void {
    this.destroyed = true;
  }
}

describe('renderProblem', () => {
  it.each(CODES)('renders %s according to the catalogue and the schema', (code) => {
    const problem = renderProblem(new ServiceError(code, 'The cause and the remedy.'), 'request-1');
    const body = ProblemSchema.parse(JSON.parse(problem.body.toString()));
    expect(problem.status).toBe(PROBLEMS[code].status);
    expect(body).toEqual({
      type: `https://slipway.dev/problems/${code}`,
      title: PROBLEMS[code].title,
      status: PROBLEMS[code].status,
      detail: 'The cause and the remedy.',
      instance: 'request-1',
      code,
    });
    expect(problem.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'content-length': String(problem.body.length),
      'cache-control': 'no-store',
    });
  });

  it('carries reason, errors and the daemon answer, and Retry-After in whole seconds', () => {
    const error = new ServiceError('not_distributable', 'Später wieder.', {
      reason: 'EntryDamaged',
      errors: [{ pointer: '/limit', message: 'must be 1 to 1000' }],
      daemon: { status: 409, code: 'store_locked' },
      retryAfter: 1.2,
      internal: 'not for the caller',
    });
    const problem = renderProblem(error, 'request-1', { vary: 'Accept' });
    expect(bodyOf(error)).toMatchObject({
      detail: 'Später wieder.',
      reason: 'EntryDamaged',
      errors: [{ pointer: '/limit', message: 'must be 1 to 1000' }],
      daemon: { status: 409, code: 'store_locked' },
    });
    expect(problem.headers).toMatchObject({ 'retry-after': '2', vary: 'Accept' });
    expect(Number(problem.headers['content-length'])).toBe(problem.body.length);
    expect(problem.body.toString()).not.toContain('not for the caller');
    expect(problem.internal).toBe('not for the caller');
  });

  it.each(Object.keys(REASONS) as Reason[])(
    'of the reason %s links to its runbook, which exists',
    (reason) => {
      const link = bodyOf(new ServiceError('not_distributable', 'Later.', { reason }))['documentation'];
      expect(link).toBe(`https://slipway.dev/runbooks/${reason}.md`);
      expect(existsSync(join(RUNBOOKS, `${reason}.md`))).toBe(true);
    },
  );

  it('without a reason has no link to a runbook', () => {
    expect(bodyOf(new ServiceError('not_found', 'Nothing.'))).not.toHaveProperty('documentation');
  });

  it.each([new Error('secret /etc/path'), 'secret text', null, undefined, { secret: 1 }])(
    'reveals nothing of an unknown error (%s)',
    (error) => {
      const problem = renderProblem(error, 'request-1');
      expect([problem.status, problem.code, problem.logLevel]).toEqual([500, 'internal_error', 'error']);
      expect(problem.body.toString()).not.toContain('secret');
    },
  );

  it('challenges on every 401', () => {
    const problem = renderProblem(new ServiceError('not_authenticated', 'No token.'), 'request-1');
    expect(problem.headers['www-authenticate']).toMatch(/^Bearer /);
  });
});

describe('sendProblem', () => {
  const problem = renderProblem(new ServiceError('not_found', 'Nothing here.'), 'request-1');

  it('sends head and body', () => {
    const response = new Recorder('GET');
    sendProblem(response, problem);
    expect(response.head).toEqual([404, problem.headers]);
    expect(response.body).toBe(problem.body);
  });

  it('sends the same head and no body for HEAD', () => {
    const response = new Recorder('HEAD');
    sendProblem(response, problem);
    expect(response.head).toEqual([404, problem.headers]);
    expect(response.body).toBeUndefined();
  });

  it('cuts an answer that has begun', () => {
    const response = new Recorder('GET');
    response.headersSent = true;
    sendProblem(response, problem);
    expect([response.destroyed, response.head]).toEqual([true, []]);
  });
});
