// SPDX-License-Identifier: Apache-2.0
// Files out of a view: their kind, and the dialog that asks for them.
#include <QAction>
#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include "app/window/canvas_widget.h"
#include "window/file_dialog.h"
#include "window/window_fixture.h"

namespace kvscope {
namespace {

class ExportTest : public WindowTest {
 protected:
  /// The first bytes of the only file that an export under this name leaves behind, after its name.
  std::string exported(const QString& file, const QString& kind) {
    window->canvas("atlas")->setFocus();
    FileDialogAnswer answer(folder.filePath(file), kind);
    for (QAction* a : window->findChildren<QAction*>())
      if (a->text().remove('&').startsWith("Export view")) {
        a->trigger();
        break;
      }
    EXPECT_TRUE(answer.answered());
    const QStringList files = QDir(folder.path()).entryList(QDir::Files);
    if (files.size() != 1) return "files: " + files.join(", ").toStdString();
    QFile written(folder.filePath(files.front()));
    EXPECT_TRUE(written.open(QIODevice::ReadOnly));
    const std::string out = files.front().toStdString() + " " + written.read(5).toStdString();
    written.remove();
    return out;
  }
  QTemporaryDir folder;
};

TEST_F(ExportTest, ATypedEndingDecidesTheKind) {
  EXPECT_EQ(exported("view", "SVG"), "view.svg <?xml");
  EXPECT_EQ(exported("insp.csv", "SVG").substr(0, 8), "insp.csv");
  EXPECT_EQ(exported("view.PNG", "Numbers").substr(0, 13), "view.PNG \x89PNG");
  EXPECT_EQ(exported("view.svg", "whole window"), "view.svg <?xml");
  EXPECT_EQ(exported("view.1", "Numbers").substr(0, 10), "view.1.csv") << "not every dot begins an ending";
}

}  // namespace
}  // namespace kvscope
