"""Trainers of other packages: the phases of their steps."""

import time

import modelmeter
import pytest


class Texts:
    """Batches of the same tokens."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        import torch

        if at >= self.count:
            raise IndexError
        return {"input_ids": torch.full((16,), 5 + at % 7), "labels": torch.tensor(at % 2)}


class SlowTexts(Texts):
    """The same, 50 ms each."""

    def __getitem__(self, at):
        time.sleep(0.05)
        return super().__getitem__(at)


def trainer_of(bert, folder, callback, texts, **options):
    """A trainer that writes nothing and says nothing."""
    import transformers

    model = transformers.BertForSequenceClassification.from_pretrained(bert, num_labels=2)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
        **{"per_device_train_batch_size": 2, **options},
    )
    return transformers.Trainer(
        model, arguments, train_dataset=texts, eval_dataset=SlowTexts(8), callbacks=[callback]
    )


def lightning_trainer(callback, folder, **options):
    import lightning

    return lightning.Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[callback],
        default_root_dir=folder,
        **options,
    )


def lightning_module(*layers):
    """A module that is trained to give less."""
    import lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Sequential(*layers)

        def training_step(self, batch, index):
            return self.layer(batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    return Module


def loader_of(rows, width):
    import torch

    return torch.utils.data.DataLoader(torch.randn(rows, width), batch_size=8)


def test_trainer(bert, tmp_path):
    from modelmeter.trainer import ModelmeterCallback

    callback = ModelmeterCallback(skip=2)
    trainer_of(bert, tmp_path, callback, Texts(200), max_steps=25, gradient_accumulation_steps=2).train()
    result = callback.result
    assert result["latency"]["samples"] == 23
    phases = result["phases"]
    assert set(phases) == {"data", "forward-backward", "optimizer", "other"}
    assert sum(part["share"] for part in phases.values()) == pytest.approx(1, abs=1e-6)
    assert phases["other"]["share"] < 0.5
    assert phases["forward-backward"]["share"] > 0.1


def test_trainer_of_too_few_steps(bert, tmp_path):
    from modelmeter.trainer import ModelmeterCallback

    with pytest.raises(modelmeter.UsageError, match="no training was measured"):
        _ = ModelmeterCallback().result
    callback = ModelmeterCallback()
    # The training is not the place to complain.
    trainer_of(bert, tmp_path, callback, Texts(4), max_steps=1, per_device_train_batch_size=1).train()
    with pytest.raises(modelmeter.UsageError, match="had 1 step"):
        _ = callback.result


def test_evaluation_is_not_data(bert, tmp_path):
    from modelmeter.trainer import ModelmeterCallback

    callback = ModelmeterCallback(skip=1)
    options = {"eval_strategy": "steps", "eval_steps": 1, "logging_steps": 1}
    trainer = trainer_of(bert, tmp_path, callback, Texts(200), max_steps=6, **options)
    trainer.train()
    # Each evaluation takes 400 ms at least, and there is one after every step.
    assert callback.result["phases"]["data"]["latency"]["median"] < 200
    trainer.evaluate()  # a finished measurement does not mind


def test_lightning(tmp_path):
    import torch
    from modelmeter.lightning import ModelmeterCallback

    module = lightning_module(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    callback = ModelmeterCallback()
    lightning_trainer(callback, tmp_path, max_steps=25).fit(module(), loader_of(256, 64))
    result = callback.result
    assert result["latency"]["samples"] == 22
    assert set(result["phases"]) == {"data", "forward", "backward", "optimizer", "other"}
    assert sum(part["share"] for part in result["phases"].values()) == pytest.approx(1, abs=1e-6)


def test_lightning_with_manual_optimisation_and_validation(tmp_path):
    import torch
    from modelmeter.lightning import ModelmeterCallback

    class Module(lightning_module(torch.nn.Linear(16, 1))):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False

        def training_step(self, batch, index):
            optimizer = self.optimizers()
            for _ in range(2):
                loss = super().training_step(batch, index)
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()
                time.sleep(0.05)

        def validation_step(self, batch, index):
            time.sleep(0.2)

    callback = ModelmeterCallback(skip=1)
    loader = loader_of(48, 16)
    trainer = lightning_trainer(callback, tmp_path, max_steps=12, val_check_interval=1, limit_val_batches=1)
    trainer.fit(Module(), loader, loader)
    phases = callback.result["phases"]
    # The first of two passes is not taken for the computing before it, nor is validation for data.
    assert phases["forward"]["latency"]["median"] < 50
    assert phases["data"]["latency"]["median"] < 200
    assert sum(part["share"] for part in phases.values()) == pytest.approx(1, abs=1e-6)


def test_lightning_of_too_few_steps(tmp_path):
    import torch
    from modelmeter.lightning import ModelmeterCallback

    module = lightning_module(torch.nn.Linear(16, 1))
    callback = ModelmeterCallback(skip=2)
    lightning_trainer(callback, tmp_path, max_steps=2).fit(module(), loader_of(48, 16))
    with pytest.raises(modelmeter.UsageError, match="had 2 steps"):
        _ = callback.result
