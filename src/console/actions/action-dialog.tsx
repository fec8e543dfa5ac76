/** One control action: its form, a confirmation if it is destructive, and its result. */

import { Component, createRef, type JSX } from 'preact';
import type { ConsoleAction } from '../../contract/console/console-contract.ts';
import { ApiFailure } from '../api/api-client.ts';
import type { Accepted } from '../api/wire.ts';
import { Button } from '../components/controls.tsx';
import {
  fieldAt,
  fieldsOf,
  readFields,
  type Field,
  type FieldProblem,
  type Values,
} from '../forms/form-model.ts';
import type { ActionRequest, App } from '../state/app.ts';
import { renderExact } from '../text/exact-json.ts';
import { words } from '../text/format.ts';
import { ActionAnswer } from './action-answer.tsx';
import { ActionConfirmation } from './action-confirmation.tsx';
import { ActionForm } from './action-form.tsx';

interface DialogProps {
  readonly app: App;
  readonly request: ActionRequest;
  readonly onClosed: () => void;
}

interface DialogState {
  readonly step: 'form' | 'confirm' | 'sending' | 'answer';
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
  readonly failure: ApiFailure | null;
  readonly body: string;
  readonly accepted: Accepted | null;
}

/** The dialog of one action. Its state lives as long as the dialog is open. */
export class ActionDialog extends Component<DialogProps, DialogState> {
  readonly action: ConsoleAction;
  readonly fields: readonly Field[];
  readonly dialog = createRef<HTMLDialogElement>();
  /** The same for the same body, so that sending again after a lost answer does nothing twice. */
  idempotencyKey = { body: '', key: '' };

  constructor(props: DialogProps) {
    super(props);
    const { app, request } = props;
    this.action = app.contract.actions[request.action] as ConsoleAction;
    this.fields = fieldsOf(this.action.schema, app.contract.switches);
    this.state = {
      step: 'form',
      values: { ...request.initial, ...request.fixed },
      problems: [],
      failure: null,
      body: '{}',
      accepted: null,
    };
  }

  override componentDidMount(): void {
    this.dialog.current?.showModal();
    this.focus('input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [type=submit]');
  }

  override componentDidUpdate(_props: DialogProps, before: DialogState): void {
    const { step, problems, failure } = this.state;
    if (step === 'confirm' && before.step !== 'confirm') this.focus('[data-safe]');
    if (step === 'answer' && before.step !== 'answer') this.focus('h2');
    if (step === 'form' && (problems !== before.problems || failure !== before.failure)) {
      this.focus('[aria-invalid=true]', '[role=alert]');
    }
  }

  /** Gives the focus to the first element found. */
  focus(...selectors: readonly string[]): void {
    const dialog = this.dialog.current;
    const found = selectors.map((selector) => dialog?.querySelector<HTMLElement>(selector)).find(Boolean);
    found?.focus();
  }

  submit(): void {
    const { request } = this.props;
    const unchanged = request.changesOnly === true ? request.initial : {};
    const { body, problems } = readFields(this.fields, this.state.values, unchanged);
    if (problems.length > 0) {
      this.setState({ problems, failure: null });
      return;
    }
    const text = renderExact(body);
    if (this.idempotencyKey.body !== text) this.idempotencyKey = { body: text, key: randomKey() };
    this.setState({ body: text, problems: [], failure: null });
    if (this.action.destructive) this.setState({ step: 'confirm' });
    else void this.send(text);
  }

  async send(body: string): Promise<void> {
    const { app, request } = this.props;
    this.setState({ step: 'sending' });
    try {
      const path = `/admin/control/${request.action}`;
      const accepted = (await app.api.control(path, body, this.idempotencyKey.key)) as Accepted;
      app.watchTask(accepted.task_id);
      app.announce('action', `${request.action} was accepted`);
      this.setState({ step: 'answer', accepted });
    } catch (error) {
      const failure = error instanceof ApiFailure ? error : new ApiFailure(String(error));
      const problems = (failure.problem.errors ?? []).map(({ pointer, message }) => ({
        path: fieldAt(pointer, this.fields) ?? '',
        message,
      }));
      this.setState({ step: 'form', failure, problems });
    }
  }

  override render(): JSX.Element {
    const { request, onClosed } = this.props;
    const { accepted } = this.state;
    const close = (): void => this.dialog.current?.close();
    return (
      <dialog aria-labelledby="action-title" ref={this.dialog} onClose={onClosed}>
        <div class="dialog-head">
          <h2 id="action-title" tabIndex={-1}>
            {words(request.action)}
          </h2>
          <Button onClick={close} class="quiet">
            Close
          </Button>
        </div>
        {accepted === null ? this.question() : <ActionAnswer accepted={accepted} close={close} />}
      </dialog>
    );
  }

  question(): JSX.Element {
    const { request } = this.props;
    const { step, body, values, problems, failure } = this.state;
    if (step === 'confirm') {
      return (
        <ActionConfirmation
          name={request.action}
          action={this.action}
          body={body}
          onBack={() => this.setState({ step: 'form' })}
          onYes={() => void this.send(body)}
        />
      );
    }
    return (
      <ActionForm
        request={request}
        action={this.action}
        fields={this.fields}
        values={values}
        problems={problems}
        failure={failure}
        isSending={step === 'sending'}
        onChange={(path, value) => this.setState((state) => ({ values: { ...state.values, [path]: value } }))}
        onSubmit={() => this.submit()}
      />
    );
  }
}

/** `crypto.randomUUID` exists only in secure origins, and plain HTTP to another host is not one. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('');
}
