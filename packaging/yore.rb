# Homebrew formula of yore @VERSION@, made by scripts/release.
class Yore < Formula
  desc "@SUMMARY@"
  homepage "@BASE_URL@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

@DOWNLOADS@

  def install
    bin.install "yore"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/yore.bash" => "yore"
    zsh_completion.install "completions/_yore"
    fish_completion.install "completions/yore.fish"
    doc.install "README.md", "docs", "THIRD-PARTY-LICENSES.txt", "yore.cdx.json"
  end

  def caveats
    <<~EOS
      Before you remove yore, take it out of the settings of agents and end its background process:
        yore uninstall all
        yore daemon stop
    EOS
  end

  test do
    ENV["YORE_HOME"] = testpath/"data"
    assert_match version.to_s, shell_output("#{bin}/yore --version")
    assert_match "moves out of Redis", shell_output("#{bin}/yore --no-daemon up")
  end
end
