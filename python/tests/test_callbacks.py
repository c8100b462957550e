"""Trainers of other packages: the phases of their steps."""

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


def test_trainer(bert, tmp_path):
    import transformers
    from modelmeter.trainer import ModelmeterCallback

    model = transformers.BertForSequenceClassification.from_pretrained(bert, num_labels=2)
    callback = ModelmeterCallback(skip=2)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=25,
        per_device_train_batch_size=2,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
        gradient_accumulation_steps=2,
    )
    transformers.Trainer(model, arguments, train_dataset=Texts(200), callbacks=[callback]).train()
    result = callback.result
    assert result["latency"]["samples"] == 23
    phases = result["phases"]
    assert set(phases) == {"data", "forward-backward", "optimizer", "other"}
    assert sum(part["share"] for part in phases.values()) == pytest.approx(1, abs=1e-6)
    assert phases["other"]["share"] < 0.5
    assert phases["forward-backward"]["share"] > 0.1


def test_trainer_of_too_few_steps(bert, tmp_path):
    import transformers
    from modelmeter.trainer import ModelmeterCallback

    with pytest.raises(modelmeter.UsageError, match="no training was measured"):
        _ = ModelmeterCallback().result
    model = transformers.BertForSequenceClassification.from_pretrained(bert, num_labels=2)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=1,
        per_device_train_batch_size=1,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
    )
    callback = ModelmeterCallback()
    # The training is not the place to complain.
    transformers.Trainer(model, arguments, train_dataset=Texts(4), callbacks=[callback]).train()
    with pytest.raises(modelmeter.UsageError, match="had 1 step"):
        _ = callback.result


def test_evaluation_is_not_data(bert, tmp_path):
    import time

    import transformers
    from modelmeter.trainer import ModelmeterCallback

    class Slow(Texts):
        def __getitem__(self, at):
            time.sleep(0.05)
            return super().__getitem__(at)

    model = transformers.BertForSequenceClassification.from_pretrained(bert, num_labels=2)
    callback = ModelmeterCallback(skip=1)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=6,
        per_device_train_batch_size=2,
        eval_strategy="steps",
        eval_steps=1,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
        use_cpu=True,
    )
    trainer = transformers.Trainer(
        model, arguments, train_dataset=Texts(200), eval_dataset=Slow(8), callbacks=[callback]
    )
    trainer.train()
    # Each evaluation takes 400 ms.
    assert callback.result["phases"]["data"]["latency"]["max"] < 200
    trainer.evaluate()  # a finished measurement does not mind


def test_lightning(tmp_path):
    import lightning
    import torch
    from modelmeter.lightning import ModelmeterCallback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))

        def training_step(self, batch, index):
            return self.layer(batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    callback = ModelmeterCallback()
    trainer = lightning.Trainer(
        max_steps=25,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[callback],
        default_root_dir=tmp_path,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(256, 64), batch_size=8))
    result = callback.result
    assert result["latency"]["samples"] == 22
    assert set(result["phases"]) == {"data", "forward", "backward", "optimizer", "other"}
    assert sum(part["share"] for part in result["phases"].values()) == pytest.approx(1, abs=1e-6)


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


def test_lightning_with_manual_optimisation_and_validation(tmp_path):
    import time

    import lightning
    import torch
    from modelmeter.lightning import ModelmeterCallback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 1)
            self.automatic_optimization = False

        def training_step(self, batch, index):
            optimizer = self.optimizers()
            for _ in range(2):
                loss = self.layer(batch).mean()
                optimizer.zero_grad()
                self.manual_backward(loss)
                optimizer.step()
                time.sleep(0.01)

        def validation_step(self, batch, index):
            time.sleep(0.2)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    callback = ModelmeterCallback(skip=1)
    loader = torch.utils.data.DataLoader(torch.randn(48, 16), batch_size=8)
    trainer = lightning_trainer(callback, tmp_path, max_steps=12, val_check_interval=1, limit_val_batches=1)
    trainer.fit(Module(), loader, loader)
    phases = callback.result["phases"]
    # The first of two passes is not taken for the computing before it, nor is validation for data.
    assert phases["forward"]["latency"]["median"] < 10
    assert phases["data"]["latency"]["max"] < 200
    assert sum(part["share"] for part in phases.values()) == pytest.approx(1, abs=1e-6)


def test_lightning_of_too_few_steps(tmp_path):
    import lightning
    import torch
    from modelmeter.lightning import ModelmeterCallback

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(16, 1)

        def training_step(self, batch, index):
            return self.layer(batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    callback = ModelmeterCallback(skip=2)
    loader = torch.utils.data.DataLoader(torch.randn(48, 16), batch_size=8)
    lightning_trainer(callback, tmp_path, max_steps=2).fit(Module(), loader)
    with pytest.raises(modelmeter.UsageError, match="had 2 steps"):
        _ = callback.result
