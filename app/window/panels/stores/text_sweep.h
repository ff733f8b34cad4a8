// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <QString>
#include <QStringList>

namespace kvscope {

struct LaneSpec;

/// A sweep over many texts, as it is asked for.
struct TextSweep {
  struct Hidden {
    int depths = 5, samples = 4, tokens = 256;  // places from first to last, texts for each, length of each
    int count() const { return depths * samples; }
  };
  QString texts;  // file; empty: prose in which numbers are hidden
  QString store;  // folder
  QString model;  // empty: the one that comes with the program
  bool stream = false;
  double temperature = 0;
  std::vector<std::string> policies;  // specifications without a budget
  QStringList budgets;                // shares of the prompt
  bool of_bytes = false;              // of the bytes of its keys and values, else of its tokens
  int seeds = 1;
  Hidden hidden{};  // without a file of texts
};

/// What a user would type after `kvscope-cli`.
QStringList argumentsOf(const TextSweep& sweep);
/// A program and its arguments as a shell reads them.
QString shellLine(const QString& program, const QStringList& arguments);
/// The kvscope-cli beside this program, else the one in the PATH; empty: there is none.
QString sweepProgram();

/// Runs as policies: without their budgets and what was done to them by hand, each once; the full cache is in every sweep anyway.
std::vector<std::string> policiesOf(const std::vector<LaneSpec>& lanes);
/// Policies from a text with commas between them, as the command line takes them: what follows a comma and is `key=value` belongs to the
/// policy before. `wrong`: what is wrong with the first that is not one.
std::vector<std::string> parsePolicies(const QString& text, QString* wrong);
/// Texts in a file, one in each line that is not empty. Throws Error: it cannot be read, or is too large to count them.
int countTexts(const QString& file);
/// Those that come with the program, a file.
QString ownTexts();
/// The folder that is offered for the store of a sweep over these texts: beside them, or, where they are the program's or nothing can be
/// written there, among the user's documents.
QString storeFor(const QString& texts);

}  // namespace kvscope
