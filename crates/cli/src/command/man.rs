//! `modelmeter man`: man pages from the same arguments.

use crate::{
    Exit, Failure,
    arguments::{Arguments, Man},
    output,
};
use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

pub(crate) fn run(arguments: &Man) -> Result<Exit, Failure> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &arguments.folder else {
        output::data(&page(&command, "modelmeter")?)?;
        return Ok(Exit::Fine);
    };
    output::make_folder(folder)?;
    let pages = pages(&command, "modelmeter")?;
    for (name, text) in &pages {
        output::to_file(&folder.join(format!("{name}.1")), text)?;
    }
    output::complain(&format!("wrote {} man pages into {}\n", pages.len(), folder.display()));
    Ok(Exit::Fine)
}

/// The pages of a command and of those under it: `modelmeter`, `modelmeter-db`, `modelmeter-db-status`.
fn pages(command: &Command, name: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut found = vec![(name.to_owned(), page(command, name)?)];
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        found.extend(pages(one, &format!("{name}-{}", one.get_name()))?);
    }
    Ok(found)
}

fn page(command: &Command, name: &str) -> Result<String, Failure> {
    let mut text = Vec::new();
    Page::new(command.clone()).title(name).render(&mut text).map_err(|error| {
        Failure::new(Exit::Cannot, "could not generate a man page").cause(error.to_string())
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options_and_examples() {
        let mut command = Arguments::command().disable_help_subcommand(true);
        command.build();
        let pages = pages(&command, "modelmeter").unwrap();
        let text = |name: &str| &pages.iter().find(|(page, _)| page == name).unwrap().1;
        assert!(text("modelmeter-profile").contains("batch\\-size"));
        assert!(text("modelmeter-db-status").contains("Examples"));
        assert!(pages.len() > 30, "{}", pages.len());
        assert!(pages.iter().all(|(name, _)| !name.contains("__")));
    }
}
