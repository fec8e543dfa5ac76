/** One control action: its form, a dry run or its effect, a confirmation, and its result. */

import { isRecord } from '../../domain/is-record.ts';
import { Component, createRef, type JSX } from 'preact';
import type { ConsoleAction, ConsoleContract } from '../../contract/console/console-contract.ts';
import { triedBody } from '../../domain/release/tried-body.ts';
import { type ApiFailure, failureOf } from '../api/api-client.ts';
import type { Accepted, Task } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import {
  actionFields,
  actionValues,
  chosenFields,
  forPeople,
  layoutOf,
  spreadArguments,
  withReviewer,
  type FormItem,
  type FormLayout,
} from '../forms/action-fields.ts';
import { fieldAt, readFields, type Field, type FieldProblem, type Values } from '../forms/form-model.ts';
import { useApp, type ActionRequest, type App } from '../state/app.ts';
import { permittedContract } from '../state/permitted-jobs.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';
import { parseExact, renderExact } from '../text/exact-json.ts';
import { sentences } from '../text/format.ts';
import { ActionAnswer, TrialWatch } from './action-answer.tsx';
import { ActionConfirmation } from './action-confirmation.tsx';
import { ActionForm } from './action-form.tsx';
import { argsOf, canTry, trialOf } from './dry-run.ts';
import { firstBody, reportedValues } from './first-values.ts';
import { optionSource, optionText } from './option-sources.ts';
import { postAction } from './post-action.ts';
import { useLate } from '../components/use-late.ts';
import type { TermImpact } from './term-impact.tsx';

type Body = Readonly<Record<string, unknown>>;

interface DialogProps {
  readonly app: App;
  readonly contract: ConsoleContract;
  readonly request: ActionRequest;
  readonly onClosed: () => void;
}

interface DialogState {
  readonly step: 'form' | 'trying' | 'confirm' | 'sending' | 'answer';
  readonly values: Values;
  readonly json: string | null;
  readonly problems: readonly FieldProblem[];
  readonly failure: ApiFailure | null;
  readonly body: Body;
  readonly trialTask: string | null;
  readonly trial: object | null;
  readonly accepted: Accepted | null;
}

const IDS: readonly string[] = [
  'term_id',
  'task_id',
  'record_id',
  'winner_record_id',
  'expected_trusted_record_ids',
  'id',
  'localized_release_id',
];
const WAITING: ReadonlySet<DialogState['step']> = new Set(['trying', 'sending']);

export class ActionDialog extends Component<DialogProps, DialogState> {
  readonly action: ConsoleAction;
  readonly fixed: ReadonlySet<string>;
  readonly before: Values;
  readonly dialog = createRef<HTMLDialogElement>();
  isClosed = false;

  constructor(props: DialogProps) {
    super(props);
    const { app, request } = props;
    this.action = props.contract.actions[request.action] as ConsoleAction;
    const contract = this.permitted();
    const first = { ...firstBody(request, contract, app.now()), ...request.body };
    const given = {
      ...actionValues(contract, request.action, first).values,
      ...request.initial,
    };
    const typed = { ...given, ...request.fixed };
    const fields = actionFields(contract, request.action, typed);
    this.before = spreadArguments(fields, given);
    const fixedArguments = spreadArguments(fields, request.fixed ?? {});
    this.fixed = new Set([...Object.keys(request.fixed ?? {}), ...Object.keys(fixedArguments)]);
    this.state = {
      step: 'form',
      values: { ...this.before, ...fixedArguments },
      json: null,
      problems: [],
      failure: null,
      body: {},
      trialTask: null,
      trial: null,
      accepted: null,
    };
  }

  override componentDidMount(): void {
    this.dialog.current?.showModal();
    this.focus('input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [type=submit]');
    const { app, request } = this.props;
    // Without the report the fields stay as they are.
    reportedValues(app, request).then(
      (found) => this.setState(({ values }) => ({ values: { ...found, ...values } })),
      () => undefined,
    );
  }

  override componentWillUnmount(): void {
    this.isClosed = true;
  }

  override componentDidUpdate(_props: DialogProps, before: DialogState): void {
    const { step, problems, failure } = this.state;
    if (step === 'trying' && before.step !== 'trying') this.focus('[data-trial]');
    if (step === 'confirm' && before.step !== 'confirm') this.focus('[data-safe]');
    if (step === 'answer' && before.step !== 'answer') this.focus('h2');
    if (step === 'form' && (problems !== before.problems || failure !== before.failure)) {
      this.focus('[aria-invalid=true]', '[role=alert]');
    }
  }

  focus(...selectors: readonly string[]): void {
    const dialog = this.dialog.current;
    const found = selectors.map((selector) => dialog?.querySelector<HTMLElement>(selector)).find(Boolean);
    found?.focus();
  }

  fields(): readonly Field[] {
    return actionFields(this.permitted(), this.props.request.action, this.state.values);
  }

  permitted(): ConsoleContract {
    const { app, contract } = this.props;
    return permittedContract(contract, (scope) => app.hasScope(scope));
  }

  layout(): FormLayout {
    return layoutOf(this.props.request.action, this.action, this.fields(), this.fixed);
  }

  /** The layout without the ids of an object that the title names: they say nothing to a person, and are sent all the same. */
  shownLayout(): FormLayout {
    const { first, more } = this.layout();
    if (this.props.request.about === undefined) return { first, more };
    const isShown = (item: FormItem): boolean =>
      item.kind !== 'field' || !IDS.includes(item.field.name) || !this.fixed.has(item.field.path);
    return { first: first.filter(isShown), more: more.filter(isShown) };
  }

  read(): ReturnType<typeof readFields> {
    const unchanged = this.props.request.changesOnly === true ? this.before : {};
    const chosen = chosenFields(this.layout(), this.state.values);
    const { body, problems } = readFields(chosen.fields, chosen.values, unchanged);
    const { app, request } = this.props;
    return { body: withReviewer(request.action, this.action, body, app.index()?.token.id ?? ''), problems };
  }

  switchJson(): void {
    const { contract, request } = this.props;
    const { json } = this.state;
    if (json === null) {
      this.setState({ json: renderExact(this.read().body, 2), problems: [], failure: null });
      return;
    }
    const body = parsedBody(json);
    if (json === renderExact(this.read().body, 2)) this.setState({ json: null, problems: [] });
    else if (body === null) this.setState({ problems: [NO_OBJECT] });
    else {
      const { values, lost } = actionValues(contract, request.action, body);
      if (lost.length === 0) this.setState({ json: null, problems: [], values });
      else this.setState({ problems: [{ path: '', message: `The form cannot show ${lost.join(', ')}.` }] });
    }
  }

  submit(): void {
    const { json } = this.state;
    const typed = json === null ? null : parsedBody(json);
    if (json !== null && typed === null) {
      this.setState({ problems: [NO_OBJECT], failure: null });
      return;
    }
    const { body, problems } = typed === null ? this.read() : { body: typed, problems: [] };
    if (problems.length > 0) {
      this.setState({ problems, failure: null });
      return;
    }
    this.setState({ body, problems: [], failure: null, trial: null, trialTask: null });
    if (canTry(this.props.request.action, this.action.hasDryRun === true, body)) void this.tryFirst(body);
    else if (this.action.destructive) this.setState({ step: 'confirm' });
    else void this.send(body);
  }

  async tryFirst(body: Body): Promise<void> {
    this.setState({ step: 'trying' });
    try {
      const accepted = await postAction(
        this.props.app,
        this.props.request.action,
        renderExact(trialOf(body)),
      );
      // Nobody waits for the result of the dry run now.
      if (this.isClosed) return;
      if (accepted.result === undefined) {
        this.setState({ trialTask: accepted.task_id });
        this.props.app.watchTask(accepted.task_id);
      } else this.onTried(accepted.result);
    } catch (error) {
      this.fail(error, body);
    }
  }

  onTrialEnded({ status, result, failure_reason: reason }: Task): void {
    if (status === 'succeeded') this.onTried(result ?? {});
    else {
      const message = sentences(reason ?? 'The dry run did not succeed.', this.props.app.now());
      this.setState({ step: 'form', failure: null, problems: [{ path: '', message }] });
    }
  }

  onTried(trial: Body): void {
    this.setState(({ body }) => ({
      step: 'confirm',
      trial,
      body: triedBody(this.props.request.action, body, trial),
    }));
  }

  async send(body: Body): Promise<void> {
    const { app, request } = this.props;
    this.setState({ step: 'sending' });
    try {
      const accepted = await postAction(app, request.action, renderExact(body));
      if (accepted.status === 'succeeded' && accepted.result !== undefined) {
        app.toast(`${this.question(body)}: done.`);
        this.dialog.current?.close();
        return;
      }
      if (this.isClosed) {
        app.toast(`${this.question(body)}: accepted. Its task is in the list of tasks.`);
        return;
      }
      app.watchTask(accepted.task_id);
      app.announce('action', `${request.action} was accepted`);
      this.setState({ step: 'answer', accepted });
    } catch (error) {
      this.fail(error, body);
    }
  }

  fail(error: unknown, body: Body): void {
    const failure = failureOf(error);
    if (this.isClosed) {
      if (this.state.step === 'sending')
        this.props.app.toast(`${this.question(body)}: ${failure.message}`, 'bad');
      return;
    }
    const fields = this.fields();
    const problems = (failure.problem.errors ?? []).map(({ pointer, message }) => ({
      path: fieldAt(pointer, fields, argsOf(body)) ?? '',
      message,
    }));
    this.setState({ step: 'form', failure, problems: forPeople(problems, fields) });
  }

  override render(): JSX.Element {
    const { onClosed, request } = this.props;
    const { title, about } = request;
    const { accepted } = this.state;
    const close = (): void => this.dialog.current?.close();
    return (
      <dialog aria-labelledby="action-title" ref={this.dialog} onClose={onClosed}>
        <div class="dialog-head">
          <h2 id="action-title" tabIndex={-1}>
            {title ?? [this.action.title, about].filter(Boolean).join(' ')}
          </h2>
          <Button onClick={close} class="plain">
            Close
          </Button>
        </div>
        {accepted === null ? <Healed reason={this.props.request.heals} /> : null}
        {accepted === null ? this.renderStep() : <ActionAnswer accepted={accepted} close={close} />}
      </dialog>
    );
  }

  question(body: Body): string {
    const { about = idOf(body), title } = this.props.request;
    if (title !== undefined) return title;
    return about === '' ? this.action.title : `${this.action.title} ${about}`;
  }

  renderStep(): JSX.Element {
    const { app, request } = this.props;
    const { step, body, values, problems, failure, json, trial, trialTask } = this.state;
    if (step === 'trying') return <TrialWatch id={trialTask} onEnded={(task) => this.onTrialEnded(task)} />;
    if (step === 'confirm') {
      return (
        <ActionConfirmation
          name={request.action}
          action={this.action}
          question={this.question(body)}
          body={body}
          trial={trial}
          onBack={() => this.setState({ step: 'form' })}
          onYes={() => void this.send(body)}
        />
      );
    }
    return (
      <ActionForm
        name={request.action}
        action={this.action}
        form={{
          values,
          problems,
          fixed: this.fixed,
          onChange: (path, value) =>
            this.setState((state) => ({ values: { ...state.values, [path]: value } })),
          sourceOf: (field) => optionSource(app, request.action, field),
          optionText: (field, option) => optionText(app, field, option),
        }}
        layout={this.shownLayout()}
        impact={<LateImpact action={request.action} values={values} about={request.about} />}
        failure={failure}
        json={json}
        submitLabel={
          this.action.destructive || this.action.hasDryRun
            ? 'Continue …'
            : (this.props.request.title ?? this.action.title)
        }
        isBusy={WAITING.has(step)}
        onJson={(text) => this.setState({ json: text })}
        onSwitch={() => this.switchJson()}
        onSubmit={() => this.submit()}
      />
    );
  }
}

/** Says that what an action would end has ended on its own. */
function Healed({ reason }: { reason: string | undefined }) {
  const app = useApp();
  const { value, failure } = verdictState(app);
  if (reason === undefined || value === null || failure !== null) return null;
  if (value.health.service.reason === reason) return null;
  return (
    <p class="note ok" role="status">
      {`This has ended meanwhile. ${currentVerdict(app).title}. You need not do it any longer.`}
    </p>
  );
}

const NO_OBJECT: FieldProblem = { path: '', message: 'The body must be a JSON object.' };

function parsedBody(text: string): Body | null {
  try {
    const value = parseExact(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function idOf(body: Body): string {
  const id = IDS.map((name) => body[name]).find((value) => typeof value === 'string');
  return typeof id === 'string' ? id : '';
}

/** The impact of a change of a term, in a file that only such forms load. */
function LateImpact(props: Parameters<typeof TermImpact>[0]): JSX.Element | null {
  const isWanted = props.action.startsWith('translation-glossary-');
  const Impact = useLate(isWanted, async () => (await import('./term-impact.tsx')).TermImpact);
  return Impact === null ? null : <Impact {...props} />;
}
